import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Archives with an index are listed without reading their data, extracted and verified by all lanes, and
/// damage is named by member.
@Suite("Archives with an index", .timeLimit(.minutes(5)), .enabled(if: Host.hasPython))
struct IndexedArchiveTests {
  static let formats = TreeFixture.indexedFormats

  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.copy("indexed-source") { new in
      try new.writeArchiveTree()
      let made = try new.shell("tar --format=pax --xattrs --acls -Scf src.tar src")
      try #require(made.status == 0, "\(made.errorText)")
    }
  }

  /// Makes `x.FORMAT` of `src.tar`, and `x.json`. Several tests use the same archive.
  private func writeIndexed(_ format: String) throws {
    try t.copy(PathBytes("indexed-\(format)")) { new in
      try t.writeIndexed("src.tar", format)
      guard new !== t else { return }
      let copied = try t.shell("cp x.\(format) x.json '\(new.root)'")
      try #require(copied.status == 0, "\(copied.errorText)")
    }
  }

  /// A shell command that decodes an archive from standard input.
  static func decoder(_ format: String) -> String {
    StockFormat(rawValue: String(format.dropFirst(4))).map { $0.tool + " -dc" } ?? "cat"
  }

  @Test("give the same tree at every concurrency", arguments: formats)
  func concurrency(format: String) throws {
    try writeIndexed(format)
    let jobs = ["1", "2", "7", "32"]
    var verified: Set<String> = []
    for job in jobs {
      let run = try t.shell("mkdir out$J; $BP extract -v -j $J -C out$J x.*r*", environment: ["J": job])
      #expect(run.status == 0, "\(run.errorText)")
      let check = try t.shell("$BP verify -v -j \(job) x.\(format)")
      #expect(check.status == 0, "\(check.errorText)")
      #expect(check.errorText.contains("SHA-256 of the index"))
      verified.insert(check.text)
    }
    #expect(try t.differences("src", jobs.map { "out\($0)/src" }) == "")
    #expect(verified.count == 1)
    #expect(try t.shell("$BP list x.\(format) | wc -l; tar tf src.tar | wc -l").rows.count == 2)
    let stock = try t.shell(
      "\(Self.decoder(format)) <x.\(format) >y.tar && tar -tf y.tar | cmp - <(tar -tf src.tar)")
    #expect(stock.status == 0, "\(stock.text)\(stock.errorText)")
  }

  @Test("are listed like the tar in them, including digests", arguments: formats)
  func listed(format: String) throws {
    try writeIndexed(format)
    for options in ["", "-z", "-l", "--digests"] {
      let run = try t.shell(
        "cmp <($BP list -q \(options) x.\(format)) <($BP list -q \(options) src.tar) 2>&1")
      #expect(run.status == 0 && run.text == "", "\(options): \(run.text)\(run.errorText)")
    }
  }

  /// Makes a folder `s` of noise, and an archive of it with one frame for each file.
  private func writeNoise(_ format: String, files: Int = 4, size: Int = 50_000) throws {
    let made = try t.shell(
      """
      mkdir s out; python3 -c 'import os
      for n in range(\(files)): open(f"s/f{n + 1}", "wb").write(os.urandom(\(size)))'
      tar --format=pax --sort=name -cf s.tar s
      """)
    try #require(made.status == 0, "\(made.errorText)")
    try t.writeIndexed("s.tar", format, segment: size * 4 / 5)
  }

  @Test("are listed without their data, and one member is extracted from its frame only", arguments: formats)
  func needsLittle(format: String) throws {
    try writeNoise(format)
    var bytes = try #require(t.content(PathBytes("x." + format)))
    // The first frame holds the folder and the first file; each other file has its own frame.
    for place in 60_000..<200_000 { bytes[place] = 0x55 }
    try t.file(PathBytes("x." + format), bytes)
    let list = try t.shell("$BP list -q x.\(format) | cmp - <(tar tf s.tar)")
    #expect(list.status == 0 && list.errorText == "", "\(list.text)\(list.errorText)")
    let run = try t.shell("$BP extract -C out x.\(format) f1 && cmp out/s/f1 s/f1")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    let check = try t.shell("$BP verify -q x.\(format)")
    #expect(check.status == 4)
    #expect(check.text == "s/f2: DAMAGED\ns/f3: DAMAGED\ns/f4: DAMAGED\n")
  }

  @Test(
    "are read only in small part for a list or one member", .enabled(if: Host.canTrace), arguments: formats)
  func readsLittle(format: String) throws {
    try writeNoise(format, files: 120, size: 20_000)
    let run = try t.shell(
      #"""
      x=$PWD/x.\#(format)
      traced() { strace -qq -f --seccomp-bpf -o trace -P $x -e trace=read,pread64,readv,preadv,mmap "$@"; }
      counted() { grep -c mmap trace; grep -o '= [0-9]*$' trace | awk '{ s += $2 } END { print s }'; }
      traced $BP list -q $x >/dev/null; counted
      traced $BP extract --to-stdout $x s/f77 | cmp - s/f77; counted
      stat -c %s $x
      """#)
    let numbers = run.text.split(separator: "\n").compactMap { Int($0) }
    try #require(numbers.count == 5, "\(run.text)\(run.errorText)")
    #expect(numbers[0] == 0 && numbers[2] == 0)
    #expect(numbers[1] * 100 < numbers[4] && numbers[3] * 50 < numbers[4], "\(numbers)")
  }

  @Test("with a flipped bit name exactly the lost members, and give all others", arguments: formats)
  func flips(format: String) throws {
    try t.writeIndexed("src.tar", format, segment: 60_000)
    let run = try t.shell(
      #"""
      python3 - \#(format) \#(Campaign.costlyCases(90)) \#(Campaign.isFull ? "0 1 2 3 4 5 6 7" : "0 3 4 6") <<'END'
      import base64, json, os, random, shutil, stat, subprocess, sys
      random.seed(3)
      format, count = sys.argv[1], int(sys.argv[2])
      BP, whole, layout = os.environ['BP'], open('x.' + format, 'rb').read(), json.load(open('x.json'))
      def tree(root):
          found = {}
          for folder, folders, names in os.walk(os.fsencode(root)):
              for name in folders + names:
                  path = os.path.join(folder, name)
                  s = os.lstat(path)
                  found[os.path.relpath(path, os.fsencode(root))] = (s.st_mode, s.st_mtime_ns,
                    open(path, 'rb').read() if stat.S_ISREG(s.st_mode) else b'')
          return found
      os.mkdir('want'); subprocess.run(['cp', '-a', 'src', 'want'], check=True)
      want = tree('want')
      places = [random.randrange(layout['start']) for _ in range(count)]
      places += [random.randrange(layout['start'], len(whole)) for _ in range(count // 3)]
      # Also changes some of the first bytes of a frame, which are its header.
      places += [layout['frames'][1] + int(n) for n in sys.argv[3:]]
      places += [layout['start'], layout['tail'][-1], len(whole) - 1, layout['frames'][-1]]
      for at in places:
          data = bytearray(whole)
          data[at] ^= 1 << random.randrange(8)
          open('y', 'wb').write(data)
          run = subprocess.run([BP, 'verify', '--json', 'y'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
          rows = [json.loads(line) for line in run.stdout.splitlines()]
          hit = {os.fsencode(r['path']) if 'path' in r else base64.b64decode(r['path_b64'])
            for r in rows if r['type'] == 'member' and r['outcome'] != 'whole'}
          if run.returncode != 4: print(at, 'verify ended with', run.returncode, run.stderr[-200:])
          near = {os.fsencode(m[0]) for m in layout['members'] if m[1] <= at < m[2]}
          if hit - near: print(at, 'hit', sorted(hit), 'and it lies in', sorted(near))
          content = {os.fsencode(m[0]) for m in layout['members'] if m[3] <= at < m[4]}
          headers = {os.fsencode(m[0]) for m in layout['members'] if m[1] <= at < m[3]}
          if format == 'tar' and headers - hit: print(at, 'hit', sorted(hit), 'and it lies in the headers of', sorted(headers))
          if format == 'tar' and content - hit: print(at, 'hit', sorted(hit), 'and it lies in', sorted(content))
          shutil.rmtree('out', ignore_errors=True); os.mkdir('out')
          run = subprocess.run([BP, 'extract', '--keep-going', '-q', '--no-fsync', '-C', 'out', 'y'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
          if run.returncode not in (0, 5): print(at, 'extract ended with', run.returncode, run.stderr[-200:])
          got = tree('out')
          lost = {name for name in want if got.get(name) != want[name]}
          if at >= layout['start'] and lost: print(at, 'is in the tail, and lost is', sorted(lost))
          # A hard link is lost together with the file that it names.
          if hit - lost or any(name not in hit and want[name][2] not in [want[h][2] for h in hit] for name in lost):
              print(at, 'hit', sorted(hit), 'lost', sorted(lost))
      END
      """#, seconds: 200)
    #expect(run.text == "" && run.status == 0, "\(run.text.prefix(3000))\(run.errorText)")
  }

  @Test("that were cut are not complete", arguments: formats)
  func cuts(format: String) throws {
    try writeIndexed(format)
    let run = try t.shell(
      #"""
      python3 - \#(format) \#(Campaign.isFull ? 1 : 2) <<'END'
      import json, os, subprocess, sys
      format, step = sys.argv[1], int(sys.argv[2])
      BP, whole, layout = os.environ['BP'], open('x.' + format, 'rb').read(), json.load(open('x.json'))
      frames, tail, start = layout['frames'], layout['tail'], layout['start']
      cuts = frames[1:12:step] + frames[-3:] + tail[1:6:step] + tail[-2:]
      cuts += [len(whole) * n // 9 for n in range(1, 9, step)]
      cuts += [len(whole) - (1 << n) for n in range(0, 11, step)] + [start - 1, start + 1, start + 20]
      if format == 'tar': cuts += [start - 512, start - 1024, start - 1536, start + 512]
      for count in sorted(set(cuts) - {start}):
          open('cut', 'wb').write(whole[:count])
          run = subprocess.run([BP, 'verify', '-q', 'cut'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
          if run.returncode != 4: print(count, 'of', len(whole), 'start', start, 'ended with', run.returncode, run.stderr[-200:])
      # The archive is complete, and a message says that it has no index.
      open('cut', 'wb').write(whole[:start])
      run = subprocess.run([BP, 'verify', 'cut'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
      if run.returncode != 0 or b'no index' not in run.stderr: print(start, run.returncode, run.stderr[-300:])
      END
      """#, seconds: 120)
    #expect(run.text == "" && run.status == 0, "\(run.text.prefix(3000))\(run.errorText)")
  }

  @Test("without compression are compared with their index, as streams too")
  func uncompressed() throws {
    try t.writeIndexed("src.tar", "tar")
    let run = try t.shell(
      #"""
      python3 - <<'END'
      import os, subprocess, tarfile
      BP, whole = os.environ['BP'], open('x.tar', 'rb').read()
      members = [m for m in tarfile.open('x.tar') if m.isreg() and m.size > 600]
      content, index = members[len(members) // 2].offset_data + 5, whole.rfind(b'BPTAIL01') - 600
      def run(name, places, damage):
          changed = bytearray(whole)
          for place in places: changed[place] ^= 1
          open('changed.tar', 'wb').write(changed)
          for command in ['extract', '--keep-going', '-C', 'out'], ['extract', '-O'], ['verify'], ['list', '--digests']:
              # The list of a file shows the digests of its index.
              for stream in [True] if 'list' in command else [False, True]:
                  os.makedirs('out', exist_ok=True)
                  more = ['--force'] if 'out' in command else []
                  ended = subprocess.run([BP, *command, *more, '-' if stream else 'changed.tar'], stdin=open('changed.tar'),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
                  if (ended.returncode == 0) == damage: print(name, command, stream, ended.returncode, ended.stderr[-300:])
      run('intact', [], False)
      for place in len(whole) - 505, len(whole) - 100:
          changed = bytearray(whole)
          changed[place] ^= 1
          ended = subprocess.run([BP, 'verify', '-q', '-'], input=changed, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
          if ended.returncode != 4: print('behind the index', place, ended.returncode, ended.stderr[-300:])
      run('content', [content], True)
      run('content and index', [content, index], True)
      run('content and tail', [content, len(whole) - 510], True)
      END
      """#, seconds: 60)
    #expect(run.text == "" && run.status == 0, "\(run.text.prefix(3000))\(run.errorText)")
  }

  @Test("end an extraction at damage without --keep-going", arguments: formats)
  func stops(format: String) throws {
    try writeIndexed(format)
    var bytes = try #require(t.content(PathBytes("x." + format)))
    for place in 2_000..<2_050 { bytes[place] = 0x55 }
    try t.file(PathBytes("x." + format), bytes)
    try t.shell("mkdir out")
    let run = try t.batchproc("extract", "-j", "1", "-C", "out", PathBytes("x." + format))
    #expect(run.status == 5 || run.status == 1, "\(run.errorText)")
  }

  @Test("that are concatenated are read as the first of them, with a message", arguments: formats)
  func joined(format: String) throws {
    let made = try t.shell("mkdir other; seq 3000 >other/file; tar --format=pax -cf other.tar other")
    try #require(made.status == 0)
    try t.writeIndexed("other.tar", format)
    try t.shell("mv x.\(format) second; cp other.tar plain; \(Self.encoder(format)) <other.tar >stock")
    try writeIndexed(format)
    for (one, other) in [
      ("x.\(format)", "second"), ("x.\(format)", "stock"), ("stock", "second"),
      ("x.\(format)", "x.\(format)"),
    ] {
      let list = try t.shell("cat \(one) \(other) >both; $BP list both")
      #expect(list.text == (try t.shell("$BP list -q \(one)").text), "\(one) \(other): \(list.errorText)")
      #expect(list.status == 5 && !list.messages.isEmpty, "\(one) \(other): \(list.errorText)")
      let check = try t.shell("$BP verify -q both")
      #expect(check.status == 4, "\(one) \(other): \(check.errorText)")
      let run = try t.shell("rm -rf out; mkdir out; $BP extract -C out both; echo $?; ls out")
      #expect(
        !run.messages.isEmpty && run.rows.count == 2 && run.rows[0].elementsEqual("5".utf8),
        "\(one) \(other): \(run.text)")
    }
  }

  @Test("that are followed by other bytes are not complete", arguments: formats)
  func garbage(format: String) throws {
    try writeIndexed(format)
    let run = try t.shell("(cat x.\(format); echo garbage) >y; $BP list y | cmp - <($BP list src.tar)")
    let isTold = ["warning", "garbage after the end", "bytes after the end"].contains {
      run.errorText.contains($0)
    }
    #expect(isTold && run.text == "", "\(run.text)\(run.errorText)")
    let check = try t.batchproc("verify", "-q", "y")
    #expect(check.status == 4, "\(check.errorText)")
  }

  /// A shell command that compresses a tar from standard input.
  private static func encoder(_ format: String) -> String {
    StockFormat(rawValue: String(format.dropFirst(4)))?.encode ?? "cat"
  }

  @Test("to which tar appended members are read with these members", arguments: ["-r", "-A"], [1, 60])
  func appended(how: String, files: Int) throws {
    // The index is longer than the record that tar overwrites in any case.
    let made = try t.shell(
      """
      mkdir more src/many; for i in $(seq \(files)); do seq $((i * 100)) >more/f$i; done
      for i in $(seq 700); do echo $i >src/many/$i; done
      $BP archive -q -o x.tar src; tar --format=pax -cf more.tar more
      tar --format=pax \(how)f x.tar \(how == "-r" ? "more" : "more.tar") 2>&1
      """)
    try #require(made.status == 0, "\(made.text)\(made.errorText)")
    let list = try t.shell("$BP list x.tar | grep -c more/")
    #expect(list.text == "\(files + 1)\n", "\(list.errorText)")
    let check = try t.batchproc("verify", "x.tar")
    if files == 1 {
      #expect(!list.messages.isEmpty && check.status == 4, "\(list.errorText)\(check.errorText)")
    } else {
      // The appended members have overwritten the whole index.
      #expect(list.messages == [] && check.status == 0, "\(list.errorText)\(check.errorText)")
      #expect(check.errorText.contains("no index"))
    }
    let run = try t.shell("mkdir out; $BP extract -q -C out x.tar; diff -r more out/more")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    #expect(try t.differences("src", "out/src") == "")
  }

  @Test(
    "that were decompressed are whole, also as streams, and damage is found with the digests of their index",
    arguments: ["xz", "bzip2"], [60, 200_000])
  func decompressed(tool: String, size: Int) throws {
    let format = tool == "xz" ? "tar.xz" : "tar.bz2"
    let run = try t.shell(
      """
      \(Steps.functions)
      head -c \(size) /dev/urandom >src/noise
      $BP archive -q -l 1 -o x.\(format) src
      \(tool) -dc <x.\(format) >x.tar
      for j in 1 2 7 32; do
        ends "verify $j" $BP verify -q -j $j x.tar
        ends "extract $j" $BP extract -q -j $j -C out$j x.tar
      done
      for command in list verify "extract -C piped"; do cat x.tar | ends "${command%% *} -" $BP $command -q - >/dev/null; done
      python3 - <<'END'
      data = open('x.tar', 'rb').read()
      place = next(i for i in range(0, len(data), 512) if data[i:i + 10] == b'src/noise' + bytes(1))
      changed = data[:place + 530] + b'!!!!' + data[place + 534:]
      open('x.tar', 'wb').write(changed)
      END
      ends "verify of damage" $BP verify x.tar >&2
      """)
    let jobs = ["1", "2", "7", "32"]
    let each = jobs.flatMap { [("verify \($0)", "0"), ("extract \($0)", "0")] }
    let rest = [("list -", "0"), ("verify -", "0"), ("extract -", "0"), ("verify of damage", "4")]
    #expect(run.text == (each + rest).map { "\($0): \($1)\n" }.joined(), "\(run.errorText)")
    #expect(run.errorText.contains("src/noise: DAMAGED"), "\(run.errorText)")
    #expect(try t.differences("src", jobs.map { "out\($0)/src" }) == "")
  }
}
