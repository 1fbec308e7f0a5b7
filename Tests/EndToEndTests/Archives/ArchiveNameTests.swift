import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Names that are bytes, and formats that store only text.
@Suite(.timeLimit(.minutes(2))) struct ArchiveNameTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// All names of one byte, and pairs of names that become equal when names are repaired or folded.
  private func writeNames() throws {
    let made = try t.shell(
      #"""
      mkdir t o
      python3 - <<'END'
      for b in range(1, 256):
          if b not in (46, 47): open(b't/' + bytes([b]), 'wb').write(bytes([b]))
      for n in [b'k\xfe', b'k\xff', b'Readme', b'README', b'caf\xc3\xa9', b'cafe\xcc\x81', b' ', b'  ', b' a', b'a ',
                b'a\nb', b'a\rb', b'a\\b', b'..foo', b'...', b'a..b', b'%s%n', b'%@', b'-rf', b'--help', b'$(id)', b'*',
                b'[a]', b'x\xe2\x80\xaegpj.sh', b'c1\xc2\x9b31m', b'\xed\xa0\xbd']:
          open(b't/' + n, 'wb').write(n)
      END
      """#)
    try #require(made.status == 0, "\(made.errorText)")
  }

  @Test("names of any bytes are kept", arguments: ["tar", "tar.zst", "cpio", "zip"])
  func kept(format: String) throws {
    try writeNames()
    let run = try t.shell(
      """
      $BP archive -q -o a.\(format) t; echo $?; $BP extract -q -C o a.\(format); echo $?; diff -r t o/t
      $BP list -qz a.\(format) | tr -d / | sort -z >one; find t -printf '%p\\0' | tr -d / | sort -z | cmp - one
      """)
    #expect(
      run.text == "0\n0\n" && run.errorText == "", "\(run.text.prefix(500))\(run.errorText.prefix(500))")
  }

  @Test("control bytes of a name are escaped in lists on a terminal and in messages")
  func shown() throws {
    try writeNames()
    try t.batchproc("archive", "-q", "-o", "a.tar", "t")
    for arguments in [
      ["extract", "-v", "-C", "o", "a.tar"], ["extract", "-C", "o", "a.tar"], ["verify", "-v", "a.tar"],
    ]
      as [[PathBytes]]
    {
      let run = try t.batchproc(arguments)
      for bytes in [run.output, run.errors] {
        #expect(!bytes.contains { ($0 < 0x20 && $0 != 0x0a) || $0 == 0x7f }, "\(arguments)")
      }
    }
  }

  @Test(
    "7z stores only names that are text; others are reported, and no member gets a wrong name")
  func sevenZip() throws {
    try t.shell(
      "mkdir t o; echo a >t/fine; echo b >$'t/k\\xfe'; echo c >$'t/k\\xff'; echo d >$'t/caf\\xc3\\xa9'")
    let run = try t.shell(
      "$BP archive -o a.7z t; echo $?; $BP list -q a.7z | LC_ALL=C sort; $BP extract -q -C o a.7z; echo $?")
    #expect(run.text == "3\nt/\nt/caf\u{e9}\nt/fine\n0\n", "\(run.text)")
    #expect(run.messages.filter { $0.contains("a name that is not UTF-8") }.count == 2, "\(run.errorText)")
  }

  @Test("zip marks exactly the UTF-8 names as UTF-8, so its readers understand both kinds")
  func zip() throws {
    try t.shell("mkdir t; echo b >$'t/k\\xfe'; echo d >$'t/caf\\xc3\\xa9'; $BP archive -q -o a.zip t")
    let run = try t.shell(
      #"python3 -c "import zipfile; print(*sorted((i.flag_bits >> 11 & 1, len(i.filename)) for i in zipfile.ZipFile('a.zip').infolist()))""#
    )
    #expect(run.text == "(0, 2) (0, 4) (1, 6)\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "decomposed and composed names, and targets of links, are bytes in every format",
    arguments: [
      "$BP archive -q --verify -o a.zip t", "$BP archive -q --verify -o a.7z t", "7z a -bd -snl a.zip t >z",
      "7z a -bd -snl a.7z t >z", "7z a -bd -snl -mhc=off a.7z t >z", "$BP archive -q --verify -o a.tar.zst t",
      "$BP archive -q --verify -o a.cpio t",
    ])
  func normalForms(maker: String) throws {
    let run = try t.shell(
      #"""
      mkdir -p t/$'de\xcc\x81' o; cd t; printf 1 >$'cafe\xcc\x81'; printf 22 >$'caf\xc3\xa9'; : >$'de\xcc\x81/f'
      ln -s $'cafe\xcc\x81' $'l\xcc\x81'; ln -s $(printf 'e\xcc\x81/%.0s' $(seq 60)) $'le\xcc\x81'; cd ..
      \#(maker); echo $?
      $BP list -qz a.* | tr -d / | sort -z >one; find t -printf '%p\0' | tr -d / | sort -z | cmp - one; echo $?
      $BP verify -q a.*; echo $?
      $BP extract -q -C o a.*; echo $?; diff -r --no-dereference t o/t
      """#)
    #expect(run.text == "0\n0\n0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a zip whose names differ only in their normal form is read from a pipe", .enabled(if: Host.hasPython))
  func normalFormsOfStream() throws {
    let run = try t.shell(
      #"""
      python3 - <<'END'
      import zipfile
      z = zipfile.ZipFile('a.zip', 'w')
      for name in 'e\u0301', '\xe9', 'de\u0301/\u212b': z.writestr(name, ascii(name))
      z.close()
      END
      cat a.zip | $BP list -qz - | od -An -v -tx1 | tr -d ' \n'; echo; cat a.zip | $BP verify -q -; echo $?
      cat a.zip | $BP extract -q -C o -; echo $?; find o -type f | wc -l; cat o/$'e\xcc\x81' o/$'\xc3\xa9'
      """#)
    #expect(
      run.text == "65cc8100c3a9006465cc812fe284ab00\n0\n0\n3\n'e\\u0301''\\xe9'",
      "\(run.text)\(run.errorText)")
  }

  /// Makes a zip with one name, and one made on this system.
  private func makeZip(_ name: String, system: Int) throws {
    let made = try t.shell(
      """
      python3 - <<'END'
      import zipfile
      info = zipfile.ZipInfo('x')
      info.filename, info.create_system = r'\(name)', \(system)
      zipfile.ZipFile('a.zip', 'w').writestr(info, 'content')
      END
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  private static let ways = """
    $BP list -qz a.zip | tr '\\0' ' '
    $BP extract -q -C o a.zip; echo $?
    (cd o; find . -type f)
    $BP verify -q a.zip; echo $?
    $BP list -qz - <a.zip | tr '\\0' ' '
    cat a.zip | $BP list -qz - | tr '\\0' ' '
    cat a.zip | $BP extract -q -C p -; echo $?
    (cd p; find . -type f)
    cat a.zip | $BP verify -q - ; echo $?
    """

  @Test(
    "a backslash in a zip is a byte of the name unless the zip was made on DOS or Windows",
    .enabled(if: Host.hasPython),
    arguments: [1, 3, 6, 19])
  func backslashes(system: Int) throws {
    try makeZip(#"we\ird"#, system: system)
    let run = try t.shell(Self.ways)
    #expect(
      run.text == #"""
        we\ird 0
        ./we\ird
        0
        we\ird we\ird 0
        ./we\ird
        0

        """#, "\(run.text)\(run.errorText)")
  }

  @Test(
    "backslashes of DOS and Windows separate folders; a stream that cannot tell says so",
    .enabled(if: Host.hasPython), arguments: [0, 10, 11, 14])
  func folders(system: Int) throws {
    try makeZip(#"dir\sub\file"#, system: system)
    let run = try t.shell(
      "$BP list -q a.zip; $BP extract -q -C o a.zip; echo $?; (cd o; find . -type f); $BP verify -q a.zip; echo $?"
    )
    #expect(run.text == "dir/sub/file\n0\n./dir/sub/file\n0\n", "\(run.text)\(run.errorText)")
    let stream = try t.shell(
      "cat a.zip | $BP extract -q -C p -; echo $?; cat a.zip | $BP list -q - >/dev/null; echo $?")
    #expect(stream.text == "3\n3\n", "\(stream.text)")
    #expect(stream.errorText.contains("backslashes between folders"), "\(stream.errorText)")
  }

  @Test(
    "own zips and those of Info-ZIP keep backslashes, by file and by pipe",
    arguments: ["$BP archive -q --verify -o", "zip -qr"])
  func ownBackslashes(maker: String) throws {
    let run = try t.shell(
      """
      mkdir t; echo 1 >'a\\b'; echo 2 >'t/c\\d'; \(maker) a.zip 'a\\b' t; echo $?
      $BP extract -q -C o a.zip && cmp 'a\\b' 'o/a\\b' && diff -r t o/t; cat a.zip | $BP extract -q -C p - && diff -r o p; echo $?
      $BP verify -q a.zip; echo $?; cat a.zip | $BP verify -q -; echo $?
      """)
    #expect(run.text == "0\n0\n0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("a name of which --transform leaves nothing is reported with the file", arguments: ["tar", "cpio"])
  func nothingLeft(format: String) throws {
    let run = try t.shell(
      """
      mkdir t; ln -s a t/l; echo 1 >t/z; ln t/z t/zz; head -c 40000000 /dev/zero >t/large
      $BP archive -q -o x.\(format) --transform 's,^a$,,;s,t/large,,' t; echo $?; $BP list -q x.\(format) | LC_ALL=C sort
      $BP archive -qn -o y.\(format) --transform 's,^a$,,' t
      """)
    #expect(run.text.hasPrefix("3\nt/\nt/z\nt/zz\n"), "\(run.text)\(run.errorText)")
    let link = "batchproc: t/l: nothing is left of the name that it links to"
    #expect(
      run.messages.sorted() == [link, link, "batchproc: t/large: nothing is left of the name"],
      "\(run.errorText)")
  }

  @Test("invalid operands are refused, and no archive is made")
  func empty() throws {
    for arguments in [
      ["archive", "-o", "a.tar", ""], ["archive", "-o", "a.tar", "-"], ["extract", ""], ["list", ""],
      ["verify", ""],
    ] as [[PathBytes]] {
      let run = try t.batchproc(arguments)
      #expect(run.status == 1 && run.messages.count == 1, "\(arguments): \(run.ending) \(run.errorText)")
    }
    #expect(t.names().isEmpty)
  }
}
