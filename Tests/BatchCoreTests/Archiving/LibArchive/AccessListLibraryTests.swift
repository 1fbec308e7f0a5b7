import CArchive
import Glibc
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("An access control list of the kernel")
struct AccessListLibraryTests {
  /// An access control list in the kernel's form: the number of its version, 2, then tag, rights and number
  /// of each line.
  private func list(_ lines: [(tag: UInt8, rights: UInt8)]) -> [UInt8] {
    [2, 0, 0, 0]
      + lines.flatMap { line -> [UInt8] in
        let id: [UInt8] = [0x02, 0x08].contains(line.tag) ? [232, 3, 0, 0] : [255, 255, 255, 255]
        return [line.tag, 0, line.rights, 0] + id
      }
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

  @Test("does not change the mode of a header, and leaves its checksum correct")
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

  private static let lists: [[(tag: UInt8, rights: UInt8, id: UInt32)]] = [
    [(0x01, 7, .max), (0x04, 5, .max), (0x20, 4, .max)],
    [
      (0x01, 7, .max), (0x02, 6, 1000), (0x02, 0, 2_147_483_647), (0x04, 5, .max), (0x08, 1, 7),
      (0x10, 7, .max), (0x20, 0, .max),
    ],
  ]

  @Test("is the same after it was stored in an archive entry, for a file and as the default of a folder")
  func roundTrip() throws {
    for lines in Self.lists {
      var bytes: [UInt8] = [2, 0, 0, 0]
      for line in lines {
        bytes += [line.tag, 0, line.rights, 0]
        bytes.appendLittleEndian(line.id)
      }
      for name in ["system.posix_acl_access", "system.posix_acl_default"] {
        let attribute = ExtendedAttribute(name: Array(name.utf8), value: bytes)
        let type = try #require(AccessList.type(of: attribute))
        let entry = try LibArchiveEntry()
        entry.fill(ArchiveEntry(path: "d", kind: .directory, mode: 0o754, attributes: [attribute]))
        let read = AccessList(entry.pointer, type: type)
        // Three lines for a file express the same rights as its mode.
        let isMode = lines.count == 3 && type == ARCHIVE_ENTRY_ACL_TYPE_ACCESS
        #expect(read?.bytes == (isMode ? nil : bytes), "\(name)")
        entry.fill(
          ArchiveEntry(path: "d", kind: .directory, mode: 0o754, attributes: [attribute]), isTar: false)
        #expect(AccessList(entry.pointer, type: type) == nil)
      }
    }
  }

  @Test("with a name gets the number of the account, and drops a line whose account is unknown")
  func names() throws {
    let entry = try LibArchiveEntry()
    entry.fill(ArchiveEntry(path: "f", kind: .file, mode: 0o640))
    let access = ARCHIVE_ENTRY_ACL_TYPE_ACCESS
    archive_entry_acl_add_entry(entry.pointer, access, 6, ARCHIVE_ENTRY_ACL_USER, -1, "daemon")
    archive_entry_acl_add_entry(entry.pointer, access, 4, ARCHIVE_ENTRY_ACL_GROUP, -1, "daemon")
    archive_entry_acl_add_entry(entry.pointer, access, 7, ARCHIVE_ENTRY_ACL_USER, -1, "no such account")
    let list = try #require(AccessList(entry.pointer, type: access))
    let user = try #require(getpwnam("daemon")).pointee.pw_uid
    let group = try #require(getgrnam("daemon")).pointee.gr_gid
    #expect(list.lines.filter { $0.tag == AccessList.user }.map(\.id) == [user])
    #expect(list.lines.filter { $0.tag == AccessList.group }.map(\.id) == [group])
    // The mask that the kernel requires covers the rights of the named lines and of the group.
    #expect(list.lines.filter { $0.tag == AccessList.mask }.map(\.rights) == [6])
  }

  @Test("with an unknown tag is kept as an attribute")
  func unknown() throws {
    let name = Array("system.posix_acl_access".utf8)
    let attribute = ExtendedAttribute(name: name, value: list([(0x01, 6), (0x40, 6), (0x04, 4), (0x20, 4)]))
    let entry = try LibArchiveEntry()
    entry.fill(ArchiveEntry(path: "f", kind: .file, mode: 0o644, attributes: [attribute]))
    #expect(archive_entry_xattr_count(entry.pointer) == 1)
    #expect(archive_entry_acl_count(entry.pointer, ARCHIVE_ENTRY_ACL_TYPE_ACCESS) == 0)
  }

  @Test("with a number that libarchive cannot hold is the same after it was stored in a tar")
  func largeNumber() throws {
    let name = Array("system.posix_acl_access".utf8)
    var value: [UInt8] = [2, 0, 0, 0]
    for (tag, rights, id) in [
      (1, 6, .max), (2, 0, 4_000_000_000), (4, 4, .max), (16, 4, .max), (32, 4, .max),
    ] as [(UInt8, UInt8, UInt32)] {
      value += [tag, 0, rights, 0]
      value.appendLittleEndian(id)
    }
    let attribute = ExtendedAttribute(name: name, value: value)
    var bytes: [UInt8] = []
    try TarHeaders().append(
      ArchiveEntry(path: "f", kind: .file, mode: 0o644, attributes: [attribute]), to: &bytes)
    bytes += [UInt8](repeating: 0, count: 1024)
    try bytes.withUnsafeBytes { raw in
      let reader = try ArchiveReader(MemoryContent(raw), name: "x", by: ReadingRight())
      guard case .entry(let entry)? = try reader.next() else {
        Issue.record("the archive has no member")
        return
      }
      #expect(entry.attributes == [attribute] && entry.mode == 0o644)
    }
  }
}
