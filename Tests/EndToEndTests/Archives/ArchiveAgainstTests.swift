import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// Archives that are compared with the tree from which they were made.
@Suite("verify --against", .timeLimit(.minutes(5))) struct ArchiveAgainstTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// The commands that make an archive of a tree: ours with an index, and stock tools.
  private static let makers: [(name: String, command: String)] = [
    ("a.tar.zst", "$BP archive -q -o a.tar.zst src"),
    ("a.tar.gz", "$BP archive -q -o a.tar.gz src"),
    ("a.tar", "tar --format=pax -cf a.tar src"),
    ("a.tar.xz", "tar --format=ustar -cJf a.tar.xz src"),
    ("a.cpio", "$BP archive -q -o a.cpio src"),
    ("a.zip", "$BP archive -q -o a.zip src"),
    ("a.7z", "$BP archive -q -o a.7z src"),
  ]

  private func makeTree(huge: String = "9M") throws {
    let made = try t.shell(
      """
      mkdir -p src/d/e src/gone src/kind; cd src
      for n in same changed sized moded timed both removed; do echo "content of $n" >d/$n; done
      head -c \(huge) /dev/urandom >d/e/huge; ln -s same d/link; echo f >kind/f; echo in >gone/in
      touch -d @1000000000 d/* d/e/* kind/* gone/*; touch -h -d @1000000000 d/link; find . -type f -exec chmod 644 {} +
      touch -d @1000000000 kind gone d/e d .
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  private func changeTree() throws {
    let changed = try t.shell(
      """
      cd src; echo 'CONTENT of changed' >d/changed; echo longer than before >d/sized; touch -d @1000000000 d/changed d/sized
      chmod 600 d/moded d/both; touch -d @1000000007 d/timed d/both; rm d/removed; rm -r gone
      rm kind/f; mkdir kind/f; ln -sfn sized d/link; touch -h -d @1000000000 d/link; mkdir d/newer; echo n >d/newer/n
      echo n >d/e/$'new\\nline'; touch -d @1000000000 kind d/e d .; chmod 644 d/e/*
      """)
    try #require(changed.status == 0, "\(changed.errorText)")
  }

  private let expected = [
    "src/d/both: METADATA (mode 0644 -> 0600, mtime @1000000000.000000000 -> @1000000007.000000000)",
    "src/d/changed: MODIFIED (content)",
    "src/d/e/new\\nline: NEW",
    "src/d/link: METADATA (target same -> sized)",
    "src/d/moded: METADATA (mode 0644 -> 0600)",
    "src/d/newer/n: NEW",
    "src/d/newer: NEW",
    "src/d/removed: MISSING",
    "src/d/sized: MODIFIED (size 17 -> 19)",
    "src/d/timed: TOUCHED (mtime @1000000000.000000000 -> @1000000007.000000000)",
    "src/gone/in: MISSING",
    "src/gone: MISSING",
    "src/kind/f: TYPE (kind file -> directory)",
  ]

  @Test(
    "reports each difference, and none for an unchanged tree", arguments: makers.indices)
  func differences(maker: Int) throws {
    let (name, command) = Self.makers[maker]
    // Only with our index, large files are compared in parts. Other archives of large files take too long to
    // make.
    try makeTree(huge: command.contains("$BP archive -q -o a.tar") ? "9M" : "300K")
    let made = try t.shell("umask 022; \(command)")
    try #require(made.status == 0, "\(made.errorText)")
    let same = try t.shell("TZ=UTC $BP verify --against . \(name)")
    #expect(same.status == 0 && same.text.isEmpty, "\(same.text)\(same.errorText)")
    try changeTree()
    var found: Set<String> = []
    for jobs in ["1", "2", "7", "32"] {
      let run = try t.shell("TZ=UTC $BP verify -j \(jobs) --against ./ \(name)")
      #expect(run.status == 4, "\(run.errorText)")
      #expect(
        run.errorText.hasSuffix("; 3 missing, 3 new, 1 type, 2 modified, 3 metadata, 1 touched\n"),
        "\(run.errorText)")
      found.insert(run.text)
    }
    #expect(found.count == 1)
    #expect((found.first?.split(separator: "\n") ?? []).map(String.init).sorted() == expected)
  }

  @Test("prints JSON with the archived and the current values")
  func json() throws {
    try makeTree()
    try t.shell("$BP archive -q -o a.tar.zst src")
    try changeTree()
    let run = try t.batchproc("verify", "--json", "--against", ".", "a.tar.zst")
    let all = run.text.split(separator: "\n").map(String.init)
    let rows = all.filter { $0.contains("\"type\":\"difference\"") }
    #expect(rows.count == expected.count)
    #expect(
      rows.contains {
        $0.contains(#""path":"src/d/moded","class":"metadata","archived_mode":"0644","live_mode":"0600""#)
      }, "\(rows)")
    #expect(rows.contains { $0.contains(#""archived_target":"same","live_target":"sized""#) })
    #expect(
      rows.contains {
        $0.contains(#""archived_mtime":"1000000000.000000000","live_mtime":"1000000007."#)
      })
    #expect(
      all.last?.contains(#""missing":3,"new":3,"other_type":1,"modified":2,"metadata":3,"touched":1"#) == true
    )
    #expect(run.status == 4)
  }

  @Test("treats only chosen files as new when options choose files")
  func chosen() throws {
    try t.writeTree()
    let run = try t.shell(
      """
      $BP archive -q --exclude '*.log' -C t -o t/a.tar.zst .; cp t/text t/x.log; cp t/text t/d/y.log; mkdir t/sub; : >t/sub/z
      touch -r t/text t/d t
      $BP verify -q --exclude '*.log' --exclude sub --against t t/a.tar.zst | grep -v METADATA; echo
      $BP verify -q --against t t/a.tar.zst | grep -v METADATA
      $BP verify --exclude x t/a.tar.zst; echo $?; $BP verify --against nowhere t/a.tar.zst; echo $?
      """)
    #expect(
      run.text == "\n./x.log: NEW\n./d/y.log: NEW\n./sub: NEW\n./sub/z: NEW\n64\n1\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("does not follow symbolic links out of the directory")
  func links() throws {
    try t.writeTree()
    let run = try t.shell(
      """
      $BP archive -q -o a.tar.zst t; mkdir other; mv t/d other/d; ln -s ../other/d t/d; rm t/text; ln -s ../other/d/one t/text
      touch other/d/more; $BP verify -q --against . a.tar.zst | grep -v '^t: '
      """)
    #expect(
      run.text
        == "t/text: TYPE (kind file -> symbolic_link)\nt/d: TYPE (kind directory -> symbolic_link)\nt/d/one: MISSING\nt/d/two: MISSING\n",
      "\(run.text)\(run.errorText)")
  }

  @Test(
    "compares extended attributes and access control lists when the archive has them",
    arguments: ["tar.zst", "tar", "stock.tar", "bare.tar"])
  func attributes(format: String) throws {
    let maker =
      switch format {
      case "stock.tar": "tar --format=pax --xattrs --acls -cf a.stock.tar t"
      case "bare.tar": "tar --format=pax -cf a.bare.tar t"
      default: "$BP archive -q -o a.\(format) t"
      }
    let run = try t.shell(
      """
      mkdir -p t/d; for n in same gone other more none; do echo $n >t/$n; done
      setfattr -n user.a -v 1 t/same t/gone t/other t/more; setfattr -n user.b -v 2 t/same t/gone
      setfacl -m u:65534:rw,g:65534:r t/same t/other; setfacl -d -m u:65534:rx t/d; \(maker)
      $BP verify -q --against . a.\(format); echo $?
      setfattr -x user.b t/gone; setfattr -n user.a -v 3 t/other; setfattr -n user.c t/more t/none; setfacl -k t/d
      setfacl -m u:65534:r t/other; $BP verify -q --against . a.\(format); echo $?
      """)
    let other = "system.posix_acl_access user.a"
    let rows = [
      "t/d: METADATA (xattrs system.posix_acl_default -> nothing)",
      "t/gone: METADATA (xattrs user.b -> nothing)", "t/more: METADATA (xattrs nothing -> user.c)",
      "t/none: METADATA (xattrs nothing -> user.c)",
      "t/other: METADATA (mode 0664 -> 0644, xattrs \(other) -> \(other))",
    ]
    let expected =
      switch format {
      case "bare.tar": ["0", "t/other: METADATA (mode 0664 -> 0644)", "4"]
      // This archive does not state that a file without attributes had none.
      case "stock.tar": ["0"] + rows.filter { !$0.hasPrefix("t/none") } + ["4"]
      default: ["0"] + rows + ["4"]
      }
    let found = run.text.split(separator: "\n").map(String.init).sorted()
    #expect(found == expected.sorted(), "\(run.text)\(run.errorText)")
  }

  @Test("compares the further names of a file", arguments: ["tar.zst", "cpio"])
  func hardLinks(format: String) throws {
    let run = try t.shell(
      """
      mkdir t; echo one >t/a; ln t/a t/b; ln t/a t/c; ln t/a t/d; touch -d @1000000000 t/a t
      $BP archive -q -o a.\(format) t; $BP verify -q --against . a.\(format); echo $?
      cp -p t/a t/x; mv t/x t/b; echo two >t/y; mv t/y t/c; rm t/d; touch -d @1000000000 t
      $BP verify -q --against . a.\(format)
      """)
    #expect(
      run.text
        == "0\nt/b: METADATA (target t/a -> nothing)\nt/c: MODIFIED (target t/a -> nothing)\nt/d: MISSING\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("names files that cannot be read, and compares the others", .enabled(if: Host.canChangeUser))
  func unreadable() throws {
    try t.writeTree()
    let run = try t.shell(
      """
      chmod 777 .; $BP archive -q -o a.tar.zst t; chmod 000 t/big; ulimit -n 24
      setpriv --reuid=65534 --regid=65534 --clear-groups $BP verify -j 32 --against . a.tar.zst; echo $?; chmod 644 t/big
      setpriv --reuid=65534 --regid=65534 --clear-groups $BP verify --against . a.tar.zst; echo $?
      """)
    #expect(run.text == "3\n0\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("t/big: cannot open: Permission denied"), "\(run.errorText)")
  }

  @Test("compares the readable part of a damaged archive, and reports new files when the names are known")
  func damaged() throws {
    let made = try t.shell(
      """
      mkdir t; for i in 1 2 3 4; do head -c 3M /dev/urandom >t/f$i; done; $BP archive -q -o a.tar.zst t
      tar -cf b.tar t; truncate -s 5M b.tar; echo changed >t/f3; echo n >t/n
      printf '\\x55\\x55\\x55' | dd of=a.tar.zst bs=1 seek=2000000 conv=notrunc status=none
      $BP verify -q --against . a.tar.zst 2>/dev/null | grep -v '^t: '; echo; $BP verify --against . b.tar 2>n.txt | grep -v '^t: '
      grep -c 'new paths cannot be determined' n.txt
      """)
    let parts = made.text.components(separatedBy: "\n\n")
    #expect(parts.first?.contains("t/f1: DAMAGED") == true, "\(made.text)")
    #expect(parts.first?.contains("t/f3: MODIFIED (size 3145728 -> 8") == true, "\(made.text)")
    #expect(parts.first?.hasSuffix("t/n: NEW") == true, "\(made.text)")
    #expect(parts.last?.contains("NEW") == false && parts.last?.hasSuffix("1\n") == true, "\(made.text)")
  }

  @Test("compares an archive from standard input with a directory")
  func standardInput() throws {
    try t.writeTree()
    let run = try t.shell(
      "tar -cf - t | $BP verify -q --against . -; echo $?; tar -cf - t | $BP verify -q --against t -; echo $?"
    )
    #expect(run.text.hasPrefix("0\nt: MISSING\n") && run.text.hasSuffix("4\n"), "\(run.text)\(run.errorText)")
  }
}
