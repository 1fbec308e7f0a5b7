import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct TarHeadersTests {
  private func header(_ entries: ArchiveEntry...) throws -> [[UInt8]] {
    let headers = try TarHeaders()
    return try entries.map { entry in
      var bytes: [UInt8] = []
      try headers.append(entry, to: &bytes)
      return bytes
    }
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func isOneBlockWhenThatIsEnough() throws {
    let bytes = try header(ArchiveEntry(path: "a/b", kind: .file, size: 5))[0]
    #expect(bytes.count == 512)
    #expect(bytes.starts(with: "a/b\0".utf8) && bytes[156] == UInt8(ascii: "0"))
  }

  @Test func doesNotDependOnEarlierHeaders() throws {
    let file = ArchiveEntry(
      path: "f", kind: .file, size: 3_000_000,
      modified: FileStatus.Time(seconds: 1, nanoseconds: 123_456_789),
      attributes: [ExtendedAttribute(name: Array("user.a".utf8), value: [0, 10, 255])])
    let odd = ArchiveEntry(path: PathBytes([0xff, 0xfe]), kind: .file, size: 10)
    let folder = ArchiveEntry(path: "d", kind: .directory)
    let made = try header(file, odd, folder, file, odd, folder, odd, file)
    let alone = try [file, odd, folder].map { try header($0)[0] }
    #expect(made == [alone[0], alone[1], alone[2], alone[0], alone[1], alone[2], alone[1], alone[0]])
  }

  @Test func keepsNanosecondsAndTimesBefore1970() throws {
    let late = FileStatus.Time(seconds: 1_767_225_600, nanoseconds: 1)
    #expect(
      text(try header(ArchiveEntry(path: "f", kind: .file, modified: late))[0])
        .contains("30 mtime=1767225600.000000001\n"))
    for (seconds, nanoseconds, text) in [
      (-2, 0, "mtime=-2\n"), (-2, 250_000_000, "mtime=-1.75\n"), (-1, 0, "mtime=-1\n"),
      (-1, 5, "mtime=-0.999999995\n"), (-1, 999_999_999, "mtime=-0.000000001\n"),
    ] as [(Int64, Int32, String)] {
      let early = FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds)
      #expect(
        self.text(try header(ArchiveEntry(path: "f", kind: .file, modified: early))[0]).contains(text))
    }
  }

  @Test func marksNamesThatAreNotText() throws {
    let names: [PathBytes] = [
      "plain", "f\u{e9}vrier", PathBytes([0x61, 0xff]),
      // Two surrogates, each encoded as a separate character: almost UTF-8.
      PathBytes([0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]),
    ]
    for (index, name) in names.enumerated() {
      let bytes = try header(ArchiveEntry(path: name, kind: .file))[0]
      #expect(text(bytes).contains("hdrcharset=BINARY") == (index > 1), "\(name)")
      #expect(bytes.indices.contains { bytes[$0...].starts(with: name.bytes) }, "\(name)")
    }
  }

  @Test func writesAccessControlListsAsText() throws {
    // user::rw-, user:1000:r--, group::r--, mask::rw-, other::---
    let list: [UInt8] =
      [2, 0, 0, 0] + [1, 0, 6, 0, 255, 255, 255, 255] + [2, 0, 4, 0, 0xE8, 3, 0, 0]
      + [4, 0, 4, 0, 255, 255, 255, 255] + [0x10, 0, 6, 0, 255, 255, 255, 255]
      + [0x20, 0, 0, 0, 255, 255, 255, 255]
    let entry = ArchiveEntry(
      path: "f", kind: .file, mode: 0o660,
      attributes: [ExtendedAttribute(name: Array("system.posix_acl_access".utf8), value: list)])
    let found = text(try header(entry)[0])
    #expect(found.contains("SCHILY.acl.access=user::rw-,group::r--,other::---,user:1000:r--"))
    #expect(found.contains("mask::rw-"))
    #expect(!found.contains("xattr"))
  }

  @Test(arguments: [PathBytes([0xff, UInt8(ascii: "/")]), "\u{e9}/"], [10, 100, 101, 150, 255])
  func writesTheWholeNameOfASparseFile(folder: PathBytes, length: Int) throws {
    let name = PathBytes(folder.bytes + [UInt8](repeating: UInt8(ascii: "b"), count: length))
    let member = ArchiveEntry(path: name, kind: .file, size: 1 << 20, dataMap: [4096..<8192])
    let bytes = try header(member, member)
    for bytes in bytes {
      let record = Array(" GNU.sparse.name=".utf8) + name.bytes + [UInt8(ascii: "\n")]
      #expect(bytes.indices.contains { bytes[$0...].starts(with: record) })
      #expect(bytes.count % 512 == 0)
    }
    #expect(bytes[0] == bytes[1])
  }

  @Test func writesTheMapOfASparseFile() throws {
    let entry = ArchiveEntry(path: "s", kind: .file, size: 1 << 40, dataMap: [4096..<8192])
    let bytes = try header(entry)[0]
    #expect(text(bytes).contains("GNU.sparse.realsize=1099511627776\n"))
    #expect(text(Array(bytes.suffix(512))).hasPrefix("2\n4096\n4096\n1099511627776\n0\n"))
    let hole = try header(ArchiveEntry(path: "s", kind: .file, size: 99, dataMap: []))[0]
    #expect(text(Array(hole.suffix(512))).hasPrefix("1\n99\n0\n"))
  }

  @Test func padsToWholeBlocks() {
    var bytes = [UInt8](repeating: 1, count: 700)
    TarBlock.pad(&bytes, from: 100)
    #expect(bytes.count == 100 + 1024 && bytes.last == 0)
    TarBlock.pad(&bytes, from: 100)
    #expect(bytes.count == 1124)
  }
}
