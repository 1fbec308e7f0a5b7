import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct ManifestWriterTests {
  private func manifest(
    of folder: TreeFixture, _ names: [PathBytes], _ format: ManifestFormat,
    _ algorithms: [DigestAlgorithm] = [.sha256], zero: Bool = false, below root: PathBytes = ""
  ) throws -> [UInt8] {
    let writer = try ManifestWriter(format, algorithms: algorithms, zero: zero)
    var output = [UInt8]()
    writer.appendHeader(to: &output)
    for name in names {
      try folder.file(name, name.bytes)
      let row = ManifestRow(
        path: root.isEmpty ? name : root.appending(name.bytes),
        digests: try algorithms.map { try Digest.of(name.bytes, $0) }, size: UInt64(name.bytes.count),
        modified: FileStatus.Time(seconds: 1, nanoseconds: 2))
      try writer.append(row, to: &output)
    }
    return output
  }

  /// The lines, sorted, since the shell's order of names differs from that of the tables.
  private func sorted(_ lines: [UInt8], by terminator: UInt8 = UInt8(ascii: "\n")) -> [[UInt8]] {
    lines.split(separator: terminator).map(Array.init).sorted { $0.lexicographicallyPrecedes($1) }
  }

  @Test(
    arguments: [
      (.sha256, "sha256sum"), (.md5, "md5sum"), (.sha512, "sha512sum"), (.blake2b, "b2sum"),
    ] as [(DigestAlgorithm, String)], [false, true])
  func gnuAndBSDFormsEqualTheOutputOfCoreutils(tool: (DigestAlgorithm, String), zero: Bool) throws {
    let folder = try TreeFixture()
    let z = zero ? "-z" : ""
    // coreutils reads standard input for a name of one dash.
    let names = HostileNames.all.filter { $0 != "-" }
    let terminator: UInt8 = zero ? 0 : UInt8(ascii: "\n")
    let gnu = try manifest(of: folder, names, .gnu, [tool.0], zero: zero)
    let bsd = try manifest(of: folder, names, .bsd, [tool.0], zero: zero)
    let listed = "find . -type f -printf '%P\\0' | xargs -0 \(tool.1) \(z)"
    #expect(
      try sorted(gnu, by: terminator)
        == sorted(Outcome(shell: "\(listed) --", in: folder).output, by: terminator))
    #expect(
      try sorted(bsd, by: terminator)
        == sorted(Outcome(shell: "\(listed) --tag --", in: folder).output, by: terminator))
  }

  @Test(arguments: [ManifestFormat.gnu, .bsd])
  func coreutilsVerifiesEveryName(format: ManifestFormat) throws {
    let folder = try TreeFixture()
    let names = HostileNames.all.filter { $0 != "-" }
    let lines = try manifest(of: folder, names, format)
    let check = try Outcome(shell: "sha256sum --strict --quiet -c -", input: lines, in: folder)
    #expect(check.status == 0)
    #expect(check.output.isEmpty && check.errors.isEmpty)
  }

  @Test func hasALineForEachDigest() throws {
    let folder = try TreeFixture()
    #expect(
      String(decoding: try manifest(of: folder, ["abc"], .gnu, [.crc32, .md5]), as: UTF8.self)
        == "352441c2  abc\n900150983cd24fb0d6963f7d28e17f72  abc\n")
    #expect(
      String(decoding: try manifest(of: folder, ["abc"], .bsd, [.crc32, .sha3Bits256]), as: UTF8.self)
        == """
        CRC32 (abc) = 352441c2
        SHA3-256 (abc) = 3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532

        """)
  }

  @Test(arguments: [ManifestFormat.gnu, .bsd], [DigestAlgorithm.xxh3, .xxh128])
  func xxhsumVerifiesItsForm(format: ManifestFormat, algorithm: DigestAlgorithm) throws {
    let folder = try TreeFixture()
    let lines = try manifest(of: folder, ["a b", "c"], format, [algorithm])
    let check = try Outcome(shell: "xxhsum --strict -c -", input: lines, in: folder)
    #expect(check.text == "a b: OK\nc: OK\n")
  }

  @Test(arguments: [[DigestAlgorithm.md5, .sha256], [.sha256, .sha1, .md5], [.sha1]])
  func hashdeepAuditsItsForm(algorithms: [DigestAlgorithm]) throws {
    let folder = try TreeFixture()
    // hashdeep removes a carriage return at the end of a line, and then reports such a name as moved.
    let names = HostileNames.withoutNewline.filter { $0.bytes.last != UInt8(ascii: "\r") }
    let lines = try manifest(of: folder, names, .hashdeep, algorithms, below: folder.root)
    let list = try TreeFixture()
    try list.file("known", lines)
    let audit = try Outcome(shell: "hashdeep -v -a -k \(list.root)/known -r \"$PWD\"", in: folder)
    #expect(audit.text.contains("Audit passed"))
    #expect(audit.text.contains("Files matched: \(names.count)\n"))
  }

  @Test func hashdeepRefusesANameThatItCannotHold() throws {
    let row = ManifestRow(
      path: "a\nb", digests: [try Digest.of([], .md5)], size: 0,
      modified: FileStatus.Time(seconds: 0, nanoseconds: 0))
    var output = [UInt8]()
    let error = #expect(throws: BatchError.self) {
      try ManifestWriter(.hashdeep, algorithms: [.md5]).append(row, to: &output)
    }
    #expect(error?.code == .invalid)
    #expect(error?.path == "a\nb")
    #expect(output.isEmpty)
    try ManifestWriter(.hashdeep, algorithms: [.md5], zero: true).append(row, to: &output)
    #expect(String(decoding: output, as: UTF8.self) == "0,d41d8cd98f00b204e9800998ecf8427e,a\nb\0")
  }

  @Test func bsdtarReadsEveryNameOfMtree() throws {
    let folder = try TreeFixture()
    let names = HostileNames.all
    let lines = try manifest(of: folder, names, .mtree, [.sha256, .md5])
    let list = try Outcome(shell: "bsdtar -tf -", input: lines)
    #expect(list.errors.isEmpty)
    #expect(list.output.filter { $0 == UInt8(ascii: "\n") }.count == names.count)
    // Each name in the form that bsdtar gives it.
    let own = try Outcome(
      shell: "bsdtar --format=mtree --options='!all,type' -cf - . | bsdtar -tf - | grep -vx '\\./\\?'",
      in: folder)
    #expect(sorted(list.output) == sorted(own.output))
  }

  @Test func mtreeContainsTheEntriesThatBsdtarFinds() throws {
    let folder = try TreeFixture()
    let lines = try manifest(of: folder, ["a b"], .mtree, [.sha256, .sha1, .md5, .sha384, .sha512])
    let stock = try Outcome(
      shell: "bsdtar --format=mtree --options='!all,size,type,sha256,sha1,md5,sha384,sha512' -cf - 'a b'",
      in: folder
    )
    func words(_ text: [UInt8]) -> Set<String> {
      Set(String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init))
    }
    #expect(
      words(lines).subtracting(["time=1.000000002"])
        == words(stock.output))
    #expect(
      String(decoding: lines, as: UTF8.self).hasPrefix(
        "#mtree\n./a\\040b type=file size=3 time=1.000000002 sha256digest="))
  }

  @Test(
    arguments: [
      (.mtree, .sha224), (.mtree, .xxh3), (.mtree, .blake2b), (.hashdeep, .sha512), (.hashdeep, .crc32),
    ] as [(ManifestFormat, DigestAlgorithm)])
  func refusesAnAlgorithmThatTheFormatLacks(format: ManifestFormat, algorithm: DigestAlgorithm) {
    let error = #expect(throws: BatchError.self) {
      try ManifestWriter(format, algorithms: [.sha256, algorithm])
    }
    #expect(error?.code == .invalid)
    #expect(error?.message.contains(algorithm.rawValue) == true)
  }

  @Test func refusesNULEndsInMtree() {
    expectError(.invalid) { try ManifestWriter(.mtree, algorithms: [.sha256], zero: true) }
  }

  @Test func jsonIsOneObjectInEachLine() throws {
    let folder = try TreeFixture()
    let lines = try manifest(of: folder, ["abc", PathBytes([0xff])], .json, [.crc32, .md5])
    #expect(
      String(decoding: lines, as: UTF8.self) == """
        {"path":"abc","size":3,"mtime":"1.000000002","crc32":"352441c2","md5":"900150983cd24fb0d6963f7d28e17f72"}
        {"path_b64":"/w==","size":1,"mtime":"1.000000002","crc32":"ff000000","md5":"00594fd4f42ba43fc1ca0427a0576295"}

        """)
  }
}
