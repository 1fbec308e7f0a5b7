import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Archives that contain a name several times, as `tar -r` and `tar -u` make them: the last member of a name
/// counts.
@Suite("Members of one name", .timeLimit(.minutes(5))) struct ExtractSuccessionTests {
  private let t: TreeFixture
  private static let jobs = ["1", "2", "7", "32"]

  init() throws { t = try TreeFixture() }

  /// Makes `x.tar` with a Python writer, and the compressed forms with and without an index. They are made
  /// once per test, since they do not depend on the concurrency.
  private func make(_ body: String, segment: Int = 2000, for test: String = #function) throws {
    let name = String(test.prefix { $0.isLetter })
    try t.copy(PathBytes("succession-\(name)")) { try Self.make(body, segment: segment, in: $0) }
  }

  private static func make(_ body: String, segment: Int, in t: TreeFixture) throws {
    try t.file(
      "make.py",
      """
      import io, tarfile
      tar = tarfile.open('x.tar', 'w', format=tarfile.PAX_FORMAT)
      def file(name, data=b'one', **fields):
          info = tarfile.TarInfo(name); info.size = len(data)
          for key in fields: setattr(info, key, fields[key])
          tar.addfile(info, io.BytesIO(data))
      def node(name, kind, **fields):
          info = tarfile.TarInfo(name); info.type = kind; info.mode = 0o755
          for key in fields: setattr(info, key, fields[key])
          tar.addfile(info)
      LINK, HARD, FIFO, DIR = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE
      \(body)
      tar.close()

      """)
    let made = try t.shell("python3 make.py && gzip -k x.tar && mkdir out stock")
    try #require(made.status == 0, "\(made.errorText)")
    try t.writeIndexed("x.tar", "tar.zst", segment: segment, part: 300_000)
  }

  /// Extracts into a new folder; `-` reads the plain archive from a pipe.
  private func extract(
    _ archive: String, _ jobs: String, _ options: String = "", into folder: String = "out"
  ) throws -> Outcome {
    let input = archive == "-" ? "cat x.tar | " : ""
    return try t.shell(
      "rm -rf \(folder); mkdir \(folder); \(input)$BP extract -j \(jobs) \(options) -C \(folder) \(archive)")
  }

  private static let archives = ["x.tar", "x.tar.gz", "-", "x.tar.zst"]

  @Test("are extracted as stock tar extracts them", arguments: jobs)
  func stock(jobs: String) throws {
    try make(
      """
      file('f', b'1', mtime=30); node('h', HARD, linkname='f'); file('f', b'22', mtime=20); node('g', HARD, linkname='f')
      file('./f', b'333', mtime=10); node('i', HARD, linkname='./f')
      node('many', DIR)
      for n in range(200): file('many/%d' % n, b'old %d' % n)
      file('big', b'a' * 1500000); node('bigh', HARD, linkname='big'); file('big', b'b' * 1300000)
      file('big2', b'x' * 1200000); file('big2', b'y'); file('big3', b'y'); file('big3', b'x' * 1200000)
      file('s'); node('s', LINK, linkname='f'); node('t', LINK, linkname='f'); file('t', b'file')
      node('u', LINK, linkname='a'); node('u', LINK, linkname='b')
      node('lh', LINK, linkname='q'); node('lhh', HARD, linkname='lh'); file('lh', b'now a file')
      file('d', b'x'); node('dh', HARD, linkname='d'); node('d', DIR); file('d/in', b'i'); node('d/sub', DIR); file('d/sub/x', b'1')
      node('e', DIR); file('e', b'file'); node('ls', LINK, linkname='f'); node('ls', DIR); file('ls/in', b'z')
      node('p', FIFO); file('p', b'no fifo'); file('q', b'x'); node('q', FIFO)
      node('hh', HARD, linkname='g'); node('hh', HARD, linkname='i')
      file('m'); file('m', b'two', mode=0o600); file('m', b'three', mode=0o640)
      node('again', DIR, mode=0o700); file('again/x'); node('again', DIR, mode=0o711)
      for n in range(200): file('many/%d' % n, b'new %d' % n)
      """)
    try #require(try t.shell("tar -xf x.tar -C stock").status == 0)
    let folders = Self.archives.indices.map { "out\($0)" }
    for (archive, folder) in zip(Self.archives, folders) {
      let run = try extract(archive, jobs, into: folder)
      #expect(run.status == 0 && run.messages.isEmpty, "\(archive) \(run.errorText)")
    }
    #expect(
      try t.differences("stock", folders, "mode second link").lines {
        // Stock tar gives the time of the run to a folder that gets more files after its own member.
        !$0.hasPrefix("b'.' ") && !$0.hasPrefix("b'many' ")
      } == [])
    #expect(try t.allTemporaries() == "")
  }

  @Test("are extracted with the newer files that tar -r and tar -u added", arguments: jobs)
  func appended(jobs: String) throws {
    let made = try t.shell(
      """
      mkdir -p t/d stock; echo 1 >t/a; ln t/a t/b; echo x >t/d/f; touch -d @1000 t/a t/d/f; tar cf x.tar t
      rm t/a; echo 22 >t/a; touch -d @2000 t/a; tar rf x.tar t/a; rm t/d/f; echo yy >t/d/f; tar uf x.tar t; rm t/a; echo 333 >t/a; tar rf x.tar t/a
      gzip -k x.tar; xz -k x.tar; zstd -q x.tar; tar xf x.tar -C stock; cat stock/t/a stock/t/b stock/t/d/f
      """)
    try #require(made.text == "333\n1\nyy\n", "\(made.text) \(made.errorText)")
    let archives = ["x.tar", "x.tar.gz", "x.tar.xz", "x.tar.zst", "-"]
    let folders = archives.indices.map { "out\($0)" }
    for (archive, folder) in zip(archives, folders) {
      let run = try extract(archive, jobs, into: folder)
      #expect(run.status == 0 && run.messages.isEmpty, "\(archive) \(run.errorText)")
    }
    #expect(try t.differences("stock/t", folders.map { "\($0)/t" }, "mode link") == "")
  }

  @Test("are extracted once when an archive has each path twice", arguments: jobs)
  func archivedTwice(jobs: String) throws {
    try t.writeArchiveTree()
    let made = try t.shell("$BP archive -q -o x.tar.zst src src; mkdir once; tar xf x.tar.zst -C once")
    try #require(made.status == 0, "\(made.errorText)")
    let run = try extract("x.tar.zst", jobs, "--json")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.differences("once/src", "out/src", "mode time link") == "")
    let superseded = run.text.split(separator: "\n").count { $0.contains("\"outcome\":\"superseded\"") }
    #expect(superseded > 2)
  }

  @Test("are marked by list and verify when a later one supersedes them", arguments: jobs)
  func marks(jobs: String) throws {
    try make(
      "file('f', b'1'); file('g', b'g'); file('./f', b'22'); node('d', DIR); node('d', DIR); file('h')")
    // An archive that is read once can only mark the later member.
    let exact = ["superseded", "", "", "superseded", "", ""]
    let late = ["", "", "supersedes", "", "supersedes", ""]
    let cases = [("x.tar", exact), ("x.tar.zst", exact), ("x.tar.gz", late), ("-", late)]
    for (archive, expected) in cases {
      let command = { (words: String) -> String in
        (archive == "-" ? "cat x.tar | " : "") + "$BP \(words) -j \(jobs) \(archive)"
      }
      func marks(_ outcome: Outcome, json: Bool) -> [String] {
        outcome.text.split(separator: "\n").filter { !json || $0.contains("\"type\":\"member\"") }.map {
          row in
          // The pattern includes the quote or parenthesis before it, so that it does not match a name.
          row.contains(json ? "\"superseded\":true" : " (superseded)")
            ? "superseded"
            : row.contains(json ? "\"supersedes\":true" : " (supersedes an earlier member)")
              ? "supersedes" : ""
        }
      }
      let long = try t.shell(command("list -l"))
      #expect(long.status == 0 && marks(long, json: false) == expected, "\(archive) \(long.text)")
      #expect(marks(try t.shell(command("list --json")), json: true) == expected, "\(archive)")
      #expect(!(try t.shell(command("list")).text.contains("supersede")))
      let verified = try t.shell(command("verify -v"))
      #expect(verified.status == 0 && marks(verified, json: false) == expected, "\(archive) \(verified.text)")
      #expect(verified.errorText.contains("2 members are superseded"), "\(archive) \(verified.errorText)")
      #expect(marks(try t.shell(command("verify --json")), json: true) == expected, "\(archive)")
    }
  }

  @Test("are not compared with a folder when a later one supersedes them", arguments: jobs)
  func against(jobs: String) throws {
    try make("file('f', b'1', mtime=5); file('g', b'g'); file('./f', b'22', mtime=9); file('g', b'hh')")
    for archive in ["x.tar", "x.tar.gz", "x.tar.zst"] {
      let run = try extract(archive, jobs)
      #expect(run.status == 0)
      let same = try t.shell("$BP verify -j \(jobs) --against out \(archive)")
      #expect(same.status == 0 && same.text == "", "\(archive) \(same.text) \(same.errorText)")
      try t.shell("echo more >>out/f")
      let other = try t.shell("$BP verify -j \(jobs) --against out \(archive)")
      #expect(other.status == 4 && other.text.split(separator: "\n").count == 1, "\(archive) \(other.text)")
    }
  }

  @Test("follow --overwrite for files that existed before the run", arguments: jobs)
  func overwriting(jobs: String) throws {
    try make("file('f', b'1', mtime=50); file('f', b'2', mtime=60); file('d/g', b'1'); file('d/g', b'2')")
    for archive in Self.archives {
      let input = archive == "-" ? "cat x.tar | " : ""
      func run(_ mode: String, _ time: Int) throws -> String {
        try t.shell(
          """
          rm -rf out; mkdir -p out/d; echo old >out/f; touch -d @\(time) out/f
          \(input)$BP extract -q -j \(jobs) --overwrite \(mode) -C out \(archive) 2>err; echo " $?"; cat out/f out/d/g
          """
        ).text.split(separator: "\n").joined()
      }
      #expect(try run("never", 55) == " 3old2", "\(archive)")
      #expect(try run("always", 55) == " 022", "\(archive)")
      #expect(try run("newer", 40) == " 022", "\(archive)")
      #expect(try run("newer", 70) == " 0old2", "\(archive)")
    }
  }

  @Test("leave no older file when the last one is damaged", arguments: jobs)
  func damaged(jobs: String) throws {
    try make(
      "import os; file('f', b'whole'); node('h', HARD, linkname='f'); file('g', b'g'); file('big', b'1'); file('f', os.urandom(30000)); "
        + "file('g', b'2'); file('big', os.urandom(2000000)); file('last', b'l')", segment: 1)
    // Changes one byte in the middle of the frames of the later `f`, then of `big`.
    for (name, number) in [("f", 4), ("big", 6)] {
      let run = try t.shell(
        """
        python3 - <<'END'
        import json
        place = json.load(open('x.json'))['members'][\(number)]
        assert place[0] == '\(name)', place
        data = bytearray(open('x.tar.zst', 'rb').read()); data[(place[1] + place[2]) // 2] ^= 1
        open('y.tar.zst', 'wb').write(data)
        END
        rm -rf out; mkdir out; $BP extract -j \(jobs) --keep-going -C out y.tar.zst || ls out | tr '\\n' ' '; cat out/h out/last
        """)
      let rest = name == "f" ? "big g h last " : "f g h last "
      #expect(run.text == "\(rest)wholel", "\(name) \(run.text) \(run.errorText)")
    }
    // Without an index, the archive ends within the later member.
    for (size, left) in [(14000, "big g h "), (40000, "f g h ")] {
      let run = try t.shell(
        """
        head -c \(size) x.tar >y.tar; rm -rf out; mkdir out; $BP extract -j \(jobs) -C out y.tar; echo $?; ls out | tr '\\n' ' '; cat out/h
        """)
      #expect(run.text == "5\n\(left)whole", "\(size) \(run.text) \(run.errorText)")
    }
  }

  @Test("count although a member between them was refused or was a folder", arguments: jobs)
  func between(jobs: String) throws {
    try make(
      "file('a', b'1'); file('a/b'); file('a', b'2'); node('d', DIR); file('d', b''); node('d', LINK, linkname='x')"
    )
    for archive in ["x.tar", "x.tar.gz", "-"] {
      let run = try extract(archive, jobs)
      #expect(run.status == 3 && run.messages.count == 1, "\(archive) \(run.errorText)")
      #expect(run.errorText.contains(": a/b: refused"), "\(archive) \(run.errorText)")
      #expect(try t.shell("cat out/a; readlink out/d").text == "2x\n", "\(archive)")
    }
  }

  @Test("do not replace a folder that is not empty, and do not turn a file into a folder", arguments: jobs)
  func folders(jobs: String) throws {
    try make(
      """
      file('d/x'); file('d', b'no'); file('f', b'file'); file('f/x'); file('l/x'); node('l', LINK, linkname='d')
      node('e', DIR); node('e', LINK, linkname='d')
      """)
    var messages: Set<[String]> = []
    for archive in Self.archives {
      let run = try extract(archive, jobs)
      #expect(run.status == 3, "\(archive) \(run.errorText)")
      messages.insert(run.messages.sorted())
      #expect(
        try t.shell("cd out; find . -printf '%p %y\\n' | LC_ALL=C sort").text
          == ". d\n./d d\n./d/x f\n./e d\n./f f\n./l d\n./l/x f\n", "\(archive)")
    }
    #expect(messages.count == 1, "\(messages)")
    #expect(messages.first?.count == 4)
  }

  @Test("do not replace files in a folder that existed before", arguments: jobs)
  func contested(jobs: String) throws {
    try make("file('p'); node('p', DIR); file('p/x', b'new')")
    for archive in Self.archives {
      let run = try t.shell(
        """
        rm -rf out; mkdir -p out/p; echo old >out/p/x; cat x.tar | $BP extract -q -j \(jobs) -C out \(archive); echo $?; cat out/p/x
        """)
      #expect(run.text == "3\nold\n", "\(archive) \(run.text) \(run.errorText)")
    }
  }

  @Test("give links a content only when this run made the empty file", arguments: jobs)
  func emptyFile(jobs: String) throws {
    let made = try t.shell(
      "mkdir src; echo content >src/b; ln src/b src/a; cd src; printf 'a\\nb\\n' | cpio -oH newc --quiet >../x.cpio"
    )
    try #require(made.status == 0, "\(made.errorText)")
    let alone = try t.shell(
      "mkdir out; : >out/a; $BP extract -q -j \(jobs) -C out x.cpio b; echo $?; stat -c '%s %h' out/a out/b")
    #expect(alone.text == "0\n0 1\n8 1\n", "\(alone.text) \(alone.errorText)")
    let both = try t.shell(
      "rm -r out; mkdir out; : >out/a; $BP extract -q -j \(jobs) -C out x.cpio; echo $?; stat -c '%s %h' out/a out/b"
    )
    #expect(both.text == "3\n0 1\n8 1\n", "\(both.text) \(both.errorText)")
    let fresh = try t.shell(
      "rm -r out; mkdir out; $BP extract -q -j \(jobs) -C out x.cpio; echo $?; stat -c '%s %h' out/a out/b")
    #expect(fresh.text == "0\n8 2\n8 2\n", "\(fresh.text) \(fresh.errorText)")
  }

  @Test(
    "are synced on each file system to which they are written", .enabled(if: Host.canMount && Host.canTrace))
  func mounts() throws {
    try make("file('a'); file('below/b'); file('below/c/d')")
    let run = try t.shell(
      """
      \(Steps.functions)
      mkdir out/below
      cat >go <<'END'
      mount -t tmpfs none out/below
      strace -qq -f --seccomp-bpf -y -e trace=syncfs -o calls $BP extract -q -C out x.tar
      cat out/below/c/d
      END
      unshare -m bash go | says "extracted file"
      counts "synced folder" 'syncfs(.*out>) *= 0' <calls
      counts "synced mount" 'syncfs(.*out/below>) *= 0' <calls
      """)
    run.expectSteps(["extracted file": "one", "synced folder": "1", "synced mount": "1"])
  }
}

extension String {
  /// The lines that match a condition.
  fileprivate func lines(where isMeant: (Substring) -> Bool) -> [Substring] {
    split(separator: "\n").filter(isMeant)
  }
}
