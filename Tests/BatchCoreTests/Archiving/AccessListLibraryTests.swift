import CArchive
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("An access control list of the kernel")
struct AccessListLibraryTests {
  /// Version 2, and lines of tag, rights and number.
  private func list(_ lines: [(tag: UInt8, rights: UInt8)]) -> [UInt8] {
    [2, 0, 0, 0] + lines.flatMap { [$0.tag, 0, $0.rights, 0, 255, 255, 255, 255] }
  }

  @Test("gives the rights of its mask, if it has one")
  func mask() {
    let masked = list([(0x01, 6), (0x02, 6), (0x04, 4), (0x10, 5), (0x20, 4)])
    #expect(AccessList(masked)?.maskRights == 5)
    #expect(AccessList(list([(0x01, 6), (0x04, 4), (0x20, 4)]))?.maskRights == nil)
    #expect(AccessList(list([]))?.maskRights == nil)
    for wrong in [[], [2, 0, 0], [3, 0, 0, 0] + masked.dropFirst(4), masked.dropLast()] as [[UInt8]] {
      #expect(AccessList(wrong)?.maskRights == nil)
    }
  }

  @Test("leaves the mode of a header as it is, and the header's sum right")
  func header() throws {
    let name = Array("system.posix_acl_access".utf8)
    for mask in UInt8(0)...7 {
      let rights = list([(0x01, 6), (0x02, 7), (0x04, 4), (0x10, mask), (0x20, 0)])
      let mode = 0o4600 | UInt32(mask) << 3
      let entry = ArchiveEntry(
        path: "f", kind: .file, mode: mode, attributes: [ExtendedAttribute(name: name, value: rights)])
      var bytes: [UInt8] = []
      try TarHeaders().append(entry, to: &bytes)
      let header = Array(bytes.suffix(TarBlock.size))
      func octal(_ field: Range<Int>) -> Int? {
        Int(String(decoding: header[field].prefix { $0 != 0 && $0 != 32 }, as: UTF8.self), radix: 8)
      }
      #expect(octal(100..<108) == Int(mode))
      let sum = header.enumerated().reduce(0) {
        $0 + ((148..<156).contains($1.offset) ? 32 : Int($1.element))
      }
      #expect(octal(148..<156) == sum)
      #expect(
        String(decoding: bytes, as: UTF8.self).contains("SCHILY.acl.access=user::rw-,group::r--,other::---"))
    }
  }
}
