import BatchCore
import BatchEngine
import TestSupport
import Testing

/// The findings about a damaged archive do not depend on the concurrency.
@Suite("A damaged archive at every concurrency", .timeLimit(.minutes(5)), .enabled(if: Host.hasPython))
struct ArchiveConcurrencyTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Flips bits of an archive, calls `run(concurrency)` and prints the results that differ.
  private func compare(_ archive: String, flips: String, rounds: Int, _ body: String) throws -> Outcome {
    try t.shell(
      #"""
      python3 - \#(archive) <<'END'
      import collections, os, random, stat, subprocess, sys
      BP, archive = os.environ['BP'], sys.argv[1]
      random.seed(archive)
      whole = open(archive, 'rb').read()
      def words(concurrency, *arguments):
          done = subprocess.run([BP, arguments[0], '-j', str(concurrency), *arguments[1:]], capture_output=True, timeout=60)
          # The last line contains the seconds of the run; with -v the slow files are named after it.
          lines = [line.split(b' in ')[0] for line in done.stderr.split(b'slowest f')[0].splitlines()]
          rows = [line.split(b',"seconds"')[0] for line in done.stdout.splitlines()]
          return done.returncode, tuple(rows), tuple(lines)
      \#(body)
      for round in range(\#(rounds)):
          data = bytearray(whole)
          for _ in range(\#(flips)): data[random.randrange(len(data))] ^= 1 << random.randrange(8)
          open('b', 'wb').write(data)
          results = collections.defaultdict(list)
          for concurrency in (1, 2, 7, 32): results[run(concurrency)].append(concurrency)
          if len(results) > 1: print(archive, round, 'differs among', list(results.values()), *results, sep='\n')
      END
      """#, seconds: 280)
  }

  @Test(
    "is verified with the same messages in the same order",
    arguments: ["tar.zst", "tar.gz", "tar.xz", "tar.lz4", "tar.bz2", "tar"])
  func verified(format: String) throws {
    let made = try t.shell(
      """
      python3 -c 'import os
      os.mkdir("t")
      for n in range(1, 121): open(f"t/{n}", "wb").write(os.urandom(n * 97))'
      ln t/1 t/link; $BP archive -q --no-fsync --stride 5 -o a.\(format) t
      """)
    try #require(made.status == 0, "\(made.errorText)")
    let run = try compare(
      "a.\(format)", flips: "40", rounds: Campaign.costlyCases(20),
      "run = lambda concurrency: words(concurrency, 'verify', 'b') + words(concurrency, 'verify', '--json', 'b')"
    )
    #expect(run.status == 0 && run.text == "", "\(run.text.prefix(3000))\(run.errorText)")
  }

  /// The numbered files in each of six folders.
  private static let files = Campaign.isFull ? 30 : 12
  /// The size of the first of these files; both numbers give half a megabyte.
  private static let unit = Campaign.isFull ? 50 : 300
  /// The members in a segment: there are about twelve segments.
  private static let stride = Campaign.isFull ? 20 : 10

  /// Makes an archive of folders, files, links and a FIFO.
  private func makeArchive(_ format: String, hasIndex: Bool) throws {
    let made = try t.shell(
      """
      python3 -c 'import os
      for d in range(1, 7):
          os.makedirs(f"t/{d}/deep"); os.makedirs(f"t/{d}/empty")
          for n in range(1, \(Self.files) + 1): open(f"t/{d}/{n}", "wb").write(os.urandom(n * d * \(Self.unit)))'
      for d in 1 2 3 4 5 6; do
        echo deep >t/$d/deep/file; : >t/$d/none; ln -s 1 t/$d/symbolic; ln t/$d/1 t/$d/hard
      done
      { head -c 600000 /dev/urandom; head -c 1900000 /dev/zero; } >t/4/large; mkfifo t/5/fifo
      find t -depth -print0 | xargs -0 touch -hd @1000000000
      if \(hasIndex); then
        $BP archive -q --no-fsync \(format == "tar" ? "" : "-l 1") --stride \(Self.stride) -o a.\(format) t
      else
        XZ_OPT=-1 tar caf a.\(format) t
      fi
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// A Python function that lists everything in a folder.
  private static let tree = """
    import hashlib, shutil, time
    begin = time.time()
    def tree(root):
        found = []
        for folder, folders, names in os.walk(root):
            for name in folders + names:
                path = os.path.join(folder, name); status = os.lstat(path); content = ''
                if stat.S_ISREG(status.st_mode): content = hashlib.md5(open(path, 'rb').read()).hexdigest()
                if stat.S_ISLNK(status.st_mode): content = os.readlink(path)
                # Folders without a member have the time of the run.
                modified = status.st_mtime_ns if status.st_mtime < begin - 100 else 0
                found.append((os.path.relpath(path, root), status.st_mode, content, modified, status.st_nlink))
        return tuple(sorted(found))
    """

  @Test(
    "gives the same files and messages at every concurrency, with and without --keep-going",
    arguments: ["tar", "tar.zst", "tar.gz", "tar.xz"], [true, false])
  func extracted(format: String, hasIndex: Bool) throws {
    try makeArchive(format, hasIndex: hasIndex)
    let run = try compare(
      "a.\(format)", flips: "random.choice([1, 1, 3])", rounds: Campaign.costlyCases(20),
      """
      \(Self.tree)
      def run(concurrency):
          found = []
          for options in (['-v'], ['-v', '--keep-going'], ['--json']):
              shutil.rmtree('o', ignore_errors=True); os.mkdir('o')
              found.append(words(concurrency, 'extract', *options, '--no-fsync', '-C', 'o', 'b') + (tree('o'),))
          return tuple(found)
      """)
    #expect(run.status == 0 && run.text == "", "\(run.text.prefix(3000))\(run.errorText)")
  }

  @Test(
    "replaces the same files in a folder that contains some of them", arguments: ["tar", "tar.zst"],
    [true, false])
  func replaced(format: String, hasIndex: Bool) throws {
    try makeArchive(format, hasIndex: hasIndex)
    let run = try compare(
      "a.\(format)", flips: "random.choice([1, 1, 3])", rounds: Campaign.costlyCases(20),
      """
      \(Self.tree)
      for folder, age in (('1', 9), ('3', 11), ('5', 9)):
          os.makedirs('p/t/' + folder, exist_ok=True)
          for name in range(1, \(Self.files) + 1):
              path = 'p/t/%s/%d' % (folder, name)
              open(path, 'w').write('what was there'); os.utime(path, (age * 10**8, age * 10**8))
      def run(concurrency):
          found = []
          for options in (['--overwrite', 'always'], ['--overwrite', 'newer', '--keep-going']):
              shutil.rmtree('o', ignore_errors=True); shutil.copytree('p', 'o')
              found.append(
                  words(concurrency, 'extract', '-v', *options, '--no-fsync', '-C', 'o', 'b') + (tree('o'),))
          return tuple(found)
      """)
    #expect(run.status == 0 && run.text == "", "\(run.text.prefix(3000))\(run.errorText)")
  }
}
