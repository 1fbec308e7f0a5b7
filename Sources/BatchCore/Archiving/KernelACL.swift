import CArchive

/// An access control list as an extended attribute holds it, `acl(5)`, on its way to libarchive.
enum KernelACL {
  private static let prefix = Array("system.posix_acl_".utf8)

  /// Which list of a file an attribute is; nil for one that is none.
  static func type(of attribute: ExtendedAttribute) -> Int32? {
    guard attribute.name.starts(with: prefix) else { return nil }
    switch String(decoding: attribute.name.dropFirst(prefix.count), as: UTF8.self) {
    case "access": return ARCHIVE_ENTRY_ACL_TYPE_ACCESS
    case "default": return ARCHIVE_ENTRY_ACL_TYPE_DEFAULT
    default: return nil
    }
  }

  /// The rights of the mask, which stand for those of the group in the mode of a file; nil where there is none.
  static func mask(of value: [UInt8]) -> UInt32? {
    guard value.starts(with: [2, 0, 0, 0]), value.count % 8 == 4 else { return nil }
    return value.withUnsafeBytes { raw in
      stride(from: 4, to: raw.count, by: 8)
        .first { raw.loadUnaligned(fromByteOffset: $0, as: UInt16.self).littleEndian == 0x10 }
        .map { UInt32(raw.loadUnaligned(fromByteOffset: $0 + 2, as: UInt16.self).littleEndian) & 7 }
    }
  }

  /// Gives the lines of a list to an entry, users and groups by number.
  ///
  /// - Returns: false for bytes that are no list.
  static func add(_ value: [UInt8], type: Int32, to entry: OpaquePointer) -> Bool {
    let isVersion2 = value.starts(with: [2, 0, 0, 0])
    guard isVersion2, value.count % 8 == 4 else { return false }
    return value.withUnsafeBytes { raw in
      for offset in stride(from: 4, to: raw.count, by: 8) {
        let tag = UInt16(littleEndian: raw.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
        let bits = UInt16(littleEndian: raw.loadUnaligned(fromByteOffset: offset + 2, as: UInt16.self))
        let id = UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
        let named: (tag: Int32, id: Int32)
        switch tag {
        case 0x01: named = (ARCHIVE_ENTRY_ACL_USER_OBJ, -1)
        case 0x02: named = (ARCHIVE_ENTRY_ACL_USER, Int32(truncatingIfNeeded: id))
        case 0x04: named = (ARCHIVE_ENTRY_ACL_GROUP_OBJ, -1)
        case 0x08: named = (ARCHIVE_ENTRY_ACL_GROUP, Int32(truncatingIfNeeded: id))
        case 0x10: named = (ARCHIVE_ENTRY_ACL_MASK, -1)
        case 0x20: named = (ARCHIVE_ENTRY_ACL_OTHER, -1)
        default: return false
        }
        // Read, write and execute have the same three bits in both.
        archive_entry_acl_add_entry(entry, type, Int32(bits & 7), named.tag, named.id, nil)
      }
      return true
    }
  }
}
