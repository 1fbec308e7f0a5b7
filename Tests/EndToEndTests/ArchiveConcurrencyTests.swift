import BatchCore
import BatchEngine
import Testing

/// What a run finds out about a damaged archive does not depend on how many operations run at once.
@Suite("A damaged archive at every concurrency", .timeLimit(.minutes(5)), .enabled(if: Host.hasPython))
struct ArchiveConcurrencyTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture(below: Host.memoryFolder) }

  /// Flips bits of an archive and compares the results of `run(concurrency)`; prints those that differ.
  private func compare(_ archive: String, flips: Int, rounds: Int, _ body: String) throws -> Outcome {
    try t.shell(
      #"""
      python3 - \#(archive) <<'END'
      import collections, os, random, stat, subprocess, sys
      BP, archive = os.environ['BP'], sys.argv[1]
      random.seed(archive)
      whole = open(archive, 'rb').read()
      def words(concurrency, *arguments):
          done = subprocess.run([BP, arguments[0], '-j', str(concurrency), *arguments[1:]], capture_output=True, timeout=60)
          # The last line has the seconds that the run took.
          lines = [line.split(b' in ')[0] for line in done.stderr.splitlines()]
          return done.returncode, done.stdout, tuple(lines)
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
      mkdir -p t; for n in $(seq 300); do head -c $((n * 97)) /dev/urandom >t/$n; done; ln t/1 t/link
      $BP archive -q --no-fsync --stride 10 -o a.\(format) t
      """)
    try #require(made.status == 0, "\(made.errorText)")
    let run = try compare(
      "a.\(format)", flips: 40, rounds: 3,
      "run = lambda concurrency: words(concurrency, 'verify', 'b') + words(concurrency, 'verify', '--json', 'b')[:1]"
    )
    #expect(run.status == 0 && run.text == "", "\(run.text.prefix(3000))\(run.errorText)")
  }
}
