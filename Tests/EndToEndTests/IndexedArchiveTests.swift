import BatchCore
import Testing

/// Archives with an index: listed without being read, extracted and verified by all lanes, damage named exactly.
@Suite("Archives with an index", .timeLimit(.minutes(5))) struct IndexedArchiveTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeArchiveTree()
    let made = try t.shell("tar --format=pax --xattrs --acls -Scf src.tar src")
    try #require(made.status == 0, "\(made.errorText)")
  }

  @Test("give the same tree at every concurrency", arguments: [false, true])
  func concurrency(countsEnd: Bool) throws {
    try t.writeIndexed("src.tar", as: "x.tar.zst", countsEnd: countsEnd)
    var verified: Set<String> = []
    for jobs in ["1", "2", "7", "32"] {
      let run = try t.shell("mkdir out$J; $BP extract -v -j $J -C out$J x.tar.zst", environment: ["J": jobs])
      #expect(run.status == 0, "\(run.errorText)")
      #expect(try t.differences("src", "out\(jobs)/src") == "")
      let check = try t.shell("$BP verify -v -j \(jobs) x.tar.zst")
      #expect(check.status == 0, "\(check.errorText)")
      verified.insert(check.text)
    }
    #expect(verified.count == 1)
    #expect(try t.shell("$BP list x.tar.zst | wc -l; tar tf src.tar | wc -l").rows.count == 2)
    #expect(
      try t.shell("zstd -tq x.tar.zst && tar --zstd -tf x.tar.zst | cmp - <(tar tf src.tar)").status == 0)
  }

  @Test("are listed as the tar in them is, digests included")
  func listed() throws {
    try t.writeIndexed("src.tar", as: "x.tar.zst")
    for options in ["", "-z", "-l", "--digests"] {
      let run = try t.shell("cmp <($BP list -q \(options) x.tar.zst) <($BP list -q \(options) src.tar)")
      #expect(run.status == 0, "\(options): \(run.text)\(run.errorText)")
    }
  }

  /// Overwrites what lies between the first bytes and the index with nonsense.
  private func ruin(_ range: Range<Int>, keeping: Range<Int>? = nil) throws {
    var bytes = try #require(t.read("x.tar.zst"))
    for place in range where keeping?.contains(place) != true { bytes[place] = 0x55 }
    try t.write("x.tar.zst", bytes)
  }

  @Test("are listed without their data, and give a member from its own frame")
  func readsLittle() throws {
    try t.shell(
      "mkdir s out; for i in 1 2 3 4; do head -c 50000 /dev/urandom >s/f$i; done; tar --format=pax -cf s.tar s"
    )
    try t.writeIndexed("s.tar", as: "x.tar.zst", segment: 40_000)
    // The folder and the first file, then a frame for each.
    try ruin(60_000..<200_000)
    #expect(try t.batchproc("list", "x.tar.zst").text == (try t.shell("tar tf s.tar").text))
    let run = try t.batchproc("extract", "-C", "out", "x.tar.zst", "f1")
    let first = try t.shell("tar tf s.tar | sed -n 2p").text.dropLast()
    let other = try t.batchproc("extract", "-C", "out", "x.tar.zst", PathBytes(String(first)))
    #expect(run.status == 0 || other.status == 0, "\(run.errorText) \(other.errorText)")
    #expect(try t.batchproc("verify", "x.tar.zst").status == 4)
  }

  @Test("with a flipped bit name exactly the members that are lost, and give all others")
  func flips() throws {
    try t.writeIndexed("src.tar", as: "x.tar.zst", segment: 60_000)
    let run = try t.shell(
      #"""
      python3 - <<'END'
      import base64, json, os, random, shutil, stat, subprocess
      random.seed(3)
      BP, whole = os.environ['BP'], open('x.tar.zst', 'rb').read()
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
      for number in range(30):
          data = bytearray(whole)
          # The last places are in the index and the seek table.
          at = random.randrange(len(data)) if number < 24 else len(data) - random.randrange(1, 4000)
          data[at] ^= 1 << random.randrange(8)
          open('y', 'wb').write(data)
          run = subprocess.run([BP, 'verify', '--json', 'y'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
          rows = [json.loads(line) for line in run.stdout.splitlines()]
          hit = {os.fsencode(r['path']) if 'path' in r else base64.b64decode(r['path_b64'])
            for r in rows if r['type'] == 'member' and r['outcome'] != 'whole'}
          if run.returncode != 4: print(at, 'verify ended with', run.returncode, run.stderr[-200:])
          subprocess.run('rm -rf out; mkdir out', shell=True)
          run = subprocess.run([BP, 'extract', '--keep-going', '-q', '--no-fsync', '-C', 'out', 'y'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
          if run.returncode not in (0, 3): print(at, 'extract ended with', run.returncode, run.stderr[-200:])
          got = tree('out')
          lost = {name for name in want if got.get(name) != want[name]}
          # A hard link is lost with the file that it is a name of.
          if hit - lost or any(name not in hit and want[name][2] not in [want[h][2] for h in hit] for name in lost):
              print(at, 'hit', sorted(hit), 'lost', sorted(lost))
      END
      """#)
    #expect(run.text == "" && run.status == 0, "\(run.text.prefix(3000))\(run.errorText)")
  }

  @Test("that were cut are never whole")
  func cuts() throws {
    try t.writeIndexed("src.tar", as: "x.tar.zst")
    let whole = try #require(t.read("x.tar.zst"))
    for step in 1...14 {
      // The last steps cut the seek table and the index.
      let count = step < 9 ? whole.count * step / 10 : whole.count - (1 << (step - 9) * 2)
      try t.write("cut", whole[..<count])
      #expect(try t.batchproc("verify", "-q", "cut").status == 4, "\(count) of \(whole.count)")
    }
  }

  @Test("stop at damage when nobody asks to go on")
  func stops() throws {
    try t.writeIndexed("src.tar", as: "x.tar.zst")
    try ruin(2_000..<2_050)
    try t.shell("mkdir out")
    let run = try t.batchproc("extract", "-j", "1", "-C", "out", "x.tar.zst")
    #expect(run.status == 5 || run.status == 1, "\(run.errorText)")
  }
}
