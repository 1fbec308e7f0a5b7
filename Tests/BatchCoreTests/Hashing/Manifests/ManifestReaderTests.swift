import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct ManifestReaderTests {
  private let md5 = "900150983cd24fb0d6963f7d28e17f72"
  private let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

  /// The names of a manifest, with `!` and the line number for each malformed row, and `#` for each other
  /// line.
  private func outline(_ manifest: String, _ options: ManifestReader.Options = .init()) throws -> [String] {
    try ManifestReader.items(in: Array(manifest.utf8), options).map { item in
      switch item {
      case .entry(let entry): entry.path.description
      case .malformed(let line, _): "!\(line)"
      case .text(let line, _): "#\(line)"
      }
    }
  }

  // MARK: - Algorithms

  @Test func assumesTheLikeliestAlgorithmOfALengthAndSaysSo() throws {
    let entries = try ManifestReader.entries(in: Array("\(md5)  a\n\(sha256)  b\nMD5 (c) = \(md5)\n".utf8))
    #expect(entries.map { $0.digests[0].algorithm } == [.md5, .sha256, .md5])
    #expect(entries.map(\.isAlgorithmGuessed) == [true, true, false])
    #expect(entries.map(\.line) == [1, 2, 3])
  }

  @Test func readsARowWhoseNameEndsLikeAnObject() throws {
    #expect(try ManifestReader.entries(in: Array("\(md5)  a\":1}\n".utf8)).map(\.path) == ["a\":1}"])
  }

  @Test("a given algorithm decides about digests without a name; another length is malformed")
  func given() throws {
    let lines = Array("\(md5)  a\n\(sha256)  b\nMD5 (c) = \(md5)\n".utf8)
    let entries = try ManifestReader.entries(in: lines, .init(algorithm: .xxh128))
    #expect(entries.map { $0.digests[0].algorithm } == [.xxh128, .md5])
    #expect(entries.map(\.isAlgorithmGuessed) == [false, false])
    #expect(try ManifestReader.faults(in: lines, .init(algorithm: .xxh128)) == [2])
    // A shorter digest of BLAKE2b is not the digest of MD5.
    #expect(try ManifestReader.faults(in: lines, .init(algorithm: .blake2b)) == [1, 2])
  }

  @Test func readsTheTagsOfOtherTools() throws {
    let crc = "352441c2"
    let xxh3 = "78af5f94892f3950"
    let lines = """
      SHA2-256(a)= \(sha256)
      SHA256(b)= \(sha256)
      MD5 (c) = \(md5)
      XXH3 (d) = \(xxh3)
      XXH3_\(xxh3)  e
      CRC32 (f) = \(crc)
      XXH128 (g) = \(md5)
      SHA3-256(h)= \(sha256)
      BLAKE2b-256 (i) = \(sha256)
      XXH64 (j) = \(xxh3)
      XXH3_\(crc)  k

      """
    #expect(try outline(lines) == ["a", "b", "c", "d", "e", "f", "g", "h", "!9", "!10", "!11"])
    #expect(
      try ManifestReader.entries(in: Array(lines.utf8)).map { $0.digests[0].algorithm }
        == [.sha256, .sha256, .md5, .xxh3, .xxh3, .crc32, .xxh128, .sha3Bits256])
    #expect(try ManifestReader.entries(in: Array(lines.utf8)).allSatisfy { !$0.isAlgorithmGuessed })
  }

  // MARK: - Lines

  @Test func readsNULEndsWhenAsked() throws {
    let lines = "\(md5)  a\nb\0MD5 (c\r) = \(md5)\0\(md5)  \\d\r\0\\\(md5)  e\0"
    #expect(try outline(lines, .init(zero: true)) == ["a\nb", "c\r", "\\d\r", "!4"])
  }

  @Test(arguments: [1 << 20, (1 << 20) + 1, 100 << 20])
  func skipsALineThatIsTooLong(length: Int) throws {
    var lines = Array("\(md5)  a\n".utf8)
    lines += [UInt8](repeating: UInt8(ascii: "x"), count: length)
    lines += Array("\n\(md5)  b\n".utf8)
    let items = try ManifestReader.items(in: lines)
    #expect(items.count == 3)
    guard case .malformed(2, let reason) = items[1] else {
      Issue.record("\(items[1])")
      return
    }
    #expect(reason.contains("a line of more than") == (length > 1 << 20))
  }

  @Test func keepsTheLongestLine() throws {
    let name = String(repeating: "n", count: (1 << 20) - 34)
    #expect(try outline("\(md5)  \(name)\n") == [name])
    #expect(try outline("\(md5)  \(name)n\n") == ["!1"])
  }

  @Test(arguments: [
    "#mtree\na type=file md5=M\n", "M  a\n", "MD5 (a) = M\n", "{\"path\":\"a\",\"md5\":\"M\"}\n",
    "%%%% HASHDEEP-1.0\n%%%% size,md5,filename\n3,M,a\n",
    "# comment\nM  a\n",
  ])
  func skipsAByteOrderMark(manifest: String) throws {
    #expect(
      try outline("\u{feff}" + manifest.replacing("M", with: md5).replacing("\(md5)D5", with: "MD5")) == ["a"]
    )
  }

  // MARK: - Invalid rows, and lines that are not rows

  @Test(arguments: [
    "63M  a", "63M *a", "g63M  a", "63Mg  a", "M  a\0b", "63M\0  a", " 63M\ta".replacing("\t", with: "  "),
    "\\63M  a",
    "\\M  a\\q", "SHA3-384 (a) = 63M", "SHA3-384(a)= 63M", "SHA256 (a) = 63M", "SHA256 (a)", "SHA256 (a",
    "SHA256 (a) = ",
    "\\WHIRLPOOL (a\\n) = 00", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=  a",
  ])
  func recognizesTheShapeOfARow(line: String) throws {
    let row = line.replacing("63M", with: sha256.dropLast()).replacing("M", with: sha256)
    #expect(try outline("\(row)\n\(sha256)  b\n") == ["!1", "b"])
    #expect(try outline("\(sha256)  b\n\(row)\n") == ["b", "!2"])
  }

  @Test(arguments: [
    "nonsense", "Checksums of version 1.2 (all files)", "\(String(repeating: "a", count: 64))", "=", "()",
    "-",
    "untrusted comment: signify public key", "RWQKNnSPPKeJU1vWp2rVLYWHV3c8VEEvvk3AAAA+/AAAAAAAAAAAAAAA== x",
    "0123abc  a", "size (x) = y (z) was", "\0", "a\0b",
  ])
  func treatsTextBeforeTheFirstRowAsText(line: String) throws {
    #expect(try outline("\(line)\n\(sha256)  b\n") == ["#1", "b"])
    #expect(try outline("\(sha256)  b\n\(line)\n") == ["b", "!2"])
  }

  @Test func recognizesCommentsEmptyLinesAndHeadings() throws {
    let lines = "# x\n\nMD5:\n\(md5)  a\n\n#\(md5)  b\nSHA-256 of all files: \n\(sha256)  c\n\(md5)0  d:\n"
    #expect(try outline(lines + " \t\n  # x\n") == ["#3", "a", "#7", "c", "!9", "#10", "#11"])
  }

  static let signature = """
    -----BEGIN PGP SIGNATURE-----
    Version: GnuPG v2

    iQIzBAEBCAAdFiEEtest+/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
    =aBcD
    -----END PGP SIGNATURE-----

    """

  @Test(arguments: ManifestFormat.allCases)
  func treatsArmorAsText(format: ManifestFormat) throws {
    let writer = try ManifestWriter(format, algorithms: [.md5])
    var rows = [UInt8]()
    writer.appendHeader(to: &rows)
    for name in ["a", "b"] as [PathBytes] {
      let digest = try Digest.of(name.bytes, .md5)
      try writer.append(ManifestRow(path: name, digests: [digest], size: 1, modified: nil), to: &rows)
    }
    let manifest =
      "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n" + String(decoding: rows, as: UTF8.self)
    let first = manifest.count { $0 == "\n" } + 1
    let armor = [first, first + 1, first + 3, first + 4, first + 5].map { "#\($0)" }
    #expect(try outline(manifest + Self.signature) == ["#1", "#2", "a", "b"] + armor)
    // A row between the lines of a signature is still read.
    let hidden = manifest + Self.signature.replacing("=aBcD", with: String(decoding: rows, as: UTF8.self))
    #expect(try outline(hidden).count { $0 == "a" || $0 == "b" } == 4)
  }

  /// A cut or a changed byte after the first row of a manifest never drops a row without a message.
  @Test(arguments: ManifestFormat.allCases)
  func namesEachRowThatIsDamaged(format: ManifestFormat) throws {
    let writer = try ManifestWriter(format, algorithms: [.sha256])
    var manifest = [UInt8]()
    writer.appendHeader(to: &manifest)
    var header = 0
    for name in ["valid", "first", "second"] as [PathBytes] {
      if name == "first" { header = manifest.count }
      let digest = try Digest.of(name.bytes, .sha256)
      try writer.append(ManifestRow(path: name, digests: [digest], size: 5, modified: nil), to: &manifest)
    }
    func judge(_ bytes: [UInt8], _ what: String) throws {
      let found = try ManifestReader.items(in: bytes).count { if case .text = $0 { false } else { true } }
      #expect(found >= 3, "\(what): \(String(decoding: bytes, as: UTF8.self))")
    }
    let ends = manifest.indices.filter { manifest[$0] == UInt8(ascii: "\n") }
    let start = try #require(ends.dropLast().last) + 1
    // A cut that leaves nothing of a row is not a malformed row.
    for end in (start + 1)..<(manifest.count - 1) { try judge(Array(manifest[..<end]), "cut") }
    let wrong = [
      0x00, 0x1f, UInt8(ascii: "!"), UInt8(ascii: "g"), UInt8(ascii: "0"), UInt8(ascii: "\""), 0xff,
    ]
    for position in header..<(manifest.count - 1) where manifest[position] != UInt8(ascii: "\n") {
      let tried = Campaign.isFull ? wrong : [wrong[position % 7], wrong[(position + 3) % 7]]
      for byte in tried {
        var bytes = manifest
        bytes[position] = byte
        try judge(bytes, "byte \(byte) at \(position)")
      }
    }
  }

  @Test func rethrowsAReadingError() throws {
    var reader = ManifestReader()
    #expect(throws: BatchError(.unreadable, "cannot read")) {
      try reader.next { _ throws(BatchError) in throw BatchError(.unreadable, "cannot read") }
    }
  }

  // MARK: - hashdeep

  @Test func readsTheColumnsNamedInTheHeader() throws {
    let lines = """
      %%%% HASHDEEP-1.0
      %%%% size,md5,tiger,sha256,filename
      ## Invoked from: /
      3,\(md5),00,\(sha256),a,b
      3,\(md5),00,\(sha256)
      x,\(md5),00,\(sha256),c
      3,\(md5)0,00,\(sha256),d
      3,\(md5),,\(sha256),e
      3,\(md5),,\(sha256),

      99999999999999999999,\(md5),,\(sha256),f
      %%%% size,md5,filename
      3,\(md5),g

      """
    #expect(try outline(lines) == ["a,b", "!5", "!6", "!7", "e", "!9", "!11", "g"])
    let entries = try ManifestReader.entries(in: Array(lines.utf8))
    #expect(entries[0].size == 3)
    #expect(entries[0].digests.map(\.hex) == [md5, sha256])
    #expect(entries[2].digests.map(\.algorithm) == [.md5])
  }

  @Test func removesCarriageReturnsOnlyWhenTheHashdeepHeaderHasThem() throws {
    let lines = "%%%% HASHDEEP-1.0\n%%%% size,md5,filename\n3,\(md5),a\r\n"
    #expect(try outline(lines) == ["a\r"])
    let windows = "%%%% HASHDEEP-1.0\r\n%%%% size,md5,filename\r\n## x\r\n\r\n3,\(md5),a\r\n"
    #expect(try outline(windows) == ["a"])
  }

  @Test func readsWhatHashdeepWrites() throws {
    let folder = try TreeFixture()
    try folder.file("a\nb", [])
    try folder.file("c", [])
    let stock = try Outcome(shell: "hashdeep -0 -l -r .", in: folder)
    #expect(
      try ManifestReader.entries(in: stock.output, .init(zero: true)).map(\.path).sorted() == [
        "./a\nb", "./c",
      ])
    #expect(
      try ManifestReader.entries(in: Outcome(shell: "hashdeep -l c", in: folder).output).map(\.path) == ["c"])
  }

  @Test func refusesHashdeepRowsWithoutAHeader() throws {
    #expect(try outline("%%%% HASHDEEP-1.0\n3,\(md5),a\n") == ["!2"])
    #expect(try outline("%%%% HASHDEEP-1.0\n%%%% size,filename\n3,a\n") == ["!3"])
    #expect(try outline("%%%% HASHDEEP-1.0\n%%%% size,md5\n3,a\n") == ["!2", "!3"])
  }

  // MARK: - mtree

  @Test func followsFoldersDefaultsAndContinuationsOfMtree() throws {
    let lines = """
      #mtree
      #   comment \\
      /set type=file uid=0 mode=0644
      . type=dir
          one size=3 time=5.7 md5digest=\(md5)
          sub\\040dir type=dir
              two md5=\(md5) \\
                  sha256=\(sha256)
              link type=link md5=\(md5)
              plain size=3
          ..
          three\\
       sha256digest=\(sha256)
      ..
      ./whole/path md5=\(md5)
      /absolute md5=\(md5)
      /unset type
      four md5=\(md5)
      ..
      five md5=\(md5)

      """
    let expected = ["one", "sub dir/two", "!10", "three", "whole/path", "/absolute", "four", "!19", "five"]
    let found = try outline(lines)
    #expect(found == expected)
    #expect(try outline(lines.split(separator: "\n").map { $0 + "\r\n" }.joined()) == expected)
    let entries = try ManifestReader.entries(in: Array(lines.utf8))
    #expect(entries[0].size == 3)
    #expect(entries[0].modified == FileStatus.Time(seconds: 5, nanoseconds: 7))
    #expect(entries[1].digests.map(\.hex) == [md5, sha256])
    #expect(entries[1].line == 7)
    #expect(entries[2].line == 12)
  }

  @Test(arguments: [
    ("a type=file", "!3"), ("a type=fil md5=M", "!3"), ("a type=file md", "!3"),
    ("a type=file rmd160digest=00", "!3"),
    ("a type=file cksum=1", "!3"), ("a type=file optional", ""), ("a type=dir", ""),
    ("a type=link link=x", ""),
    ("a type=file rmd160digest=00 md5=M", "a"),
  ])
  func reportsAMissingDigestWhenOtherFilesHaveOne(line: String, expected: String) throws {
    #expect(try outline("#mtree\na type=file sha256dig\"st=\(sha256)\n") == ["!2"])
    let rows = "#mtree\nb md5=M\n\(line)\n".replacing("M", with: md5)
    #expect(try outline(rows) == ["b"] + (expected.isEmpty ? [] : [expected]))
  }

  @Test(arguments: [
    (#"a\040b"#, "a b"), (#"a\sb"#, "a b"), (#"a\tb\n"#, "a\tb\n"), (#"\043\075\134"#, "#=\\"),
    (##"\#a"##, "#a"),
    (#"\\"#, "\\"), (#"a\57b"#, "!2"), (#"\400"#, "!2"), (#"a\000"#, "!2"), (#"a\q"#, "!2"), (#"a\^A"#, "!2"),
    (#"\303\251"#, "\u{e9}"), (#"\057set"#, "/set"),
  ])
  func decodesNamesOfMtree(name: String, expected: String) throws {
    #expect(try outline("#mtree\n\(name) md5=\(md5)\n") == [expected])
  }

  @Test(arguments: [
    "a md5=\(String(repeating: "0", count: 31))", "a size=x md5=900150983cd24fb0d6963f7d28e17f72",
    "a time=x md5=900150983cd24fb0d6963f7d28e17f72", "a size=18446744073709551616", "/set md5=x", "..",
  ])
  func refusesBadValuesOfMtree(line: String) throws {
    #expect(try outline("#mtree\n\(line)\nb md5=\(md5)\n") == ["!2", "b"])
  }

  @Test func tracksFoldersWithBadNames() throws {
    let lines =
      "#mtree\nx type=dir\n\\q type=dir\nin md5=\(md5)\ny type=dir\n..\n..\nout md5=\(md5)\n..\nup md5=\(md5)\n"
    #expect(try outline(lines) == ["!3", "!4", "!5", "x/out", "up"])
  }

  @Test func limitsHowDeepFoldersNest() throws {
    let folder = String(repeating: "d", count: 1 << 19)
    let lines =
      "#mtree\n" + String(repeating: "\(folder) type=dir\n", count: 3)
      + "a md5=\(md5)\n..\n..\nb md5=\(md5)\n"
    #expect(try outline(lines) == ["!3", "!4", "!5", "\(folder)/b"])
  }

  @Test func refusesContinuationsThatBecomeTooLong() throws {
    let line = String(repeating: "x", count: 1 << 19) + "\\\n"
    #expect(try outline("#mtree\n\(line)\(line)\(line)\nb md5=\(md5)\n") == ["!2", "b"])
  }

  @Test func recognizesMtreeWithoutItsHeader() throws {
    #expect(try outline("/set type=file\na md5=\(md5)\n") == ["a"])
    #expect(try outline("#  user: x\n\n. type=dir\na md5=\(md5)\n") == ["a"])
    #expect(try outline("./a sha256=\(sha256)\n") == ["a"])
  }

  @Test func readsWhatBsdtarWrites() throws {
    let folder = try TreeFixture()
    for name in HostileNames.all { try folder.file(name, name.bytes) }
    for options in ["sha256", "sha256,use-set", "sha256,indent"] {
      let stock = try Outcome(shell: "bsdtar --format=mtree --options='\(options)' -cf - .", in: folder)
      let entries = try ManifestReader.entries(in: stock.output)
      #expect(Set(entries.map(\.path)) == Set(HostileNames.all.map { $0 == "-" ? "./-" : $0 }))
      #expect(entries.count == HostileNames.all.count)
      for entry in entries {
        let name: PathBytes = entry.path == "./-" ? "-" : entry.path
        #expect(entry.digests == [try Digest.of(name.bytes, .sha256)])
        #expect(entry.size == UInt64(name.bytes.count))
      }
    }
  }

  // MARK: - JSON

  @Test(arguments: [
    (#"{"path":"a","md5":"M"}"#, "a"), (#" { "md5" : "M" , "path" : "a" } "#, "a"),
    (#"{"path":"\u00e9\ud83d\ude00\n\/","md5":"M","x":null,"y":true,"z":-1.5e3}"#, "é😀\n/"),
    (#"{"path_b64":"YQ==","md5":"M"}"#, "a"), (#"{"path":"a","md5":"M"}x"#, "!1"), (#"{"path":"a"}"#, "!1"),
    (#"{"md5":"M"}"#, "!1"), (#"{"path":"a","md5":"M""#, "!1"), (#"{"path":"a","md5":"M","x":[1]}"#, "!1"),
    (#"{"path":"a\ud83d","md5":"M"}"#, "!1"), (#"{"path":"a\u0000","md5":"M"}"#, "!1"),
    (#"{"path":"a\x","md5":"M"}"#, "!1"), (#"{"path":"a","md5":"0"}"#, "!1"),
    (#"{"path_b64":"?","md5":"M"}"#, "!1"),
    (#"{"path":"a","size":-1,"md5":"M"}"#, "!1"), (#"{"path":"a","mtime":1e9,"md5":"M"}"#, "!1"),
    (#"{"path":"a","md5":"M",}"#, "!1"), (#"{"path":"a" "md5":"M"}"#, "!1"), (#"{""#, "!1"),
    (#"{"x":1}"#, "!1"),
  ])
  func readsFlatObjectsOnly(line: String, expected: String) throws {
    #expect(try outline(line.replacing("M", with: md5)) == [expected])
  }

  @Test func skipsTheEventsBetweenRows() throws {
    let lines = """
      {"type":"problem","schema":1,"seq":0,"event":"missing","path":"x"}
      {"type":"file","schema":1,"seq":1,"path":"a","size":3,"md5":"\(md5)"}
      {"type":"other","path":"b","md5":"\(md5)"}
      # comment
      {"type":"other"}
      {"type":"summary","seen":2}

      """
    #expect(try outline(lines) == ["a", "b", "!5"])
  }

  // MARK: - Any input

  @Test(arguments: [1, 2, 7, 4096, 1 << 16])
  func doesNotDependOnThePieces(pieces: Int) throws {
    for lines in try ManifestFuzzTests.seeds() {
      #expect(try ManifestReader.items(in: lines, pieces: pieces) == ManifestReader.items(in: lines))
    }
  }
}
