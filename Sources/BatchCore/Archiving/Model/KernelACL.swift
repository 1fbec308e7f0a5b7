import BatchEngine
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
    lines(of: value)?.first { $0.tag == 0x10 }?.rights
  }

  /// Gives the lines of a list to an entry, users and groups by number.
  ///
  /// - Returns: false for bytes that are no list.
  static func add(_ value: [UInt8], type: Int32, to entry: OpaquePointer) -> Bool {
    guard let lines = lines(of: value) else { return false }
    for line in lines {
      let named: (tag: Int32, id: Int32)
      switch line.tag {
      case 0x01: named = (ARCHIVE_ENTRY_ACL_USER_OBJ, -1)
      case 0x02: named = (ARCHIVE_ENTRY_ACL_USER, Int32(truncatingIfNeeded: line.id))
      case 0x04: named = (ARCHIVE_ENTRY_ACL_GROUP_OBJ, -1)
      case 0x08: named = (ARCHIVE_ENTRY_ACL_GROUP, Int32(truncatingIfNeeded: line.id))
      case 0x10: named = (ARCHIVE_ENTRY_ACL_MASK, -1)
      case 0x20: named = (ARCHIVE_ENTRY_ACL_OTHER, -1)
      default: return false
      }
      // Read, write and execute have the same three bits in both.
      archive_entry_acl_add_entry(entry, type, Int32(line.rights), named.tag, named.id, nil)
    }
    return true
  }

  /// Version 2: lines of tag, rights and number; nil for other bytes.
  private static func lines(of value: [UInt8]) -> [(tag: UInt16, rights: UInt32, id: UInt32)]? {
    guard value.starts(with: [2, 0, 0, 0]), value.count % 8 == 4 else { return nil }
    var reader = LittleEndianReader(value[4...])
    var lines = [(tag: UInt16, rights: UInt32, id: UInt32)]()
    while let tag = reader.number(UInt16.self), let rights = reader.number(UInt16.self),
      let id = reader.number(UInt32.self)
    {
      lines.append((tag, UInt32(rights) & 7, id))
    }
    return lines
  }
}
