import BatchEngine
import CArchive

/// A POSIX access control list, in the form that the kernel keeps it in, `acl(5)`.
struct PosixACL {
  /// One line of the list; the numbers of its tag are the kernel's.
  struct Line: Comparable {
    let tag: UInt16
    let permissions: UInt16
    let id: UInt32

    static func < (left: Line, right: Line) -> Bool { (left.tag, left.id) < (right.tag, right.id) }
  }

  private static let mask: UInt16 = 0x10
  private static let other: UInt16 = 0x20

  private(set) var lines: [Line]

  /// The list that an entry has; nil when it has none beside its mode.
  init?(_ entry: OpaquePointer, type: Int32) {
    guard archive_entry_acl_count(entry, type) > 0 else { return nil }
    archive_entry_acl_reset(entry, type)
    lines = []
    var found: Int32 = 0
    var permissions: Int32 = 0
    var tag: Int32 = 0
    var id: Int32 = 0
    var name: UnsafePointer<CChar>?
    while archive_entry_acl_next(entry, type, &found, &permissions, &tag, &id, &name) == ARCHIVE_OK {
      let line: (tag: UInt16, id: UInt32?)
      switch tag {
      case ARCHIVE_ENTRY_ACL_USER_OBJ: line = (0x01, .max)
      case ARCHIVE_ENTRY_ACL_USER: line = (0x02, UInt32(exactly: id) ?? name.flatMap(Accounts.user))
      case ARCHIVE_ENTRY_ACL_GROUP_OBJ: line = (0x04, .max)
      case ARCHIVE_ENTRY_ACL_GROUP: line = (0x08, UInt32(exactly: id) ?? name.flatMap(Accounts.group))
      case ARCHIVE_ENTRY_ACL_MASK: line = (Self.mask, .max)
      case ARCHIVE_ENTRY_ACL_OTHER: line = (Self.other, .max)
      default: continue
      }
      // A name that nobody has here cannot be granted anything.
      guard let id = line.id else { continue }
      lines.append(Line(tag: line.tag, permissions: UInt16(truncatingIfNeeded: permissions) & 7, id: id))
    }
    guard !lines.isEmpty else { return nil }
    completeMask()
    lines.sort()
  }

  /// The kernel refuses a list with names and without a mask.
  private mutating func completeMask() {
    guard lines.contains(where: { $0.tag == 0x02 || $0.tag == 0x08 }),
      !lines.contains(where: { $0.tag == Self.mask })
    else { return }
    let all = lines.filter { $0.tag != 0x01 && $0.tag != Self.other }.reduce(UInt16(0)) {
      $0 | $1.permissions
    }
    lines.append(Line(tag: Self.mask, permissions: all, id: .max))
  }

  /// The value of `system.posix_acl_access` or `system.posix_acl_default`: version 2.
  var kernelBytes: [UInt8] {
    var bytes: [UInt8] = [2, 0, 0, 0]
    for line in lines {
      bytes.append(littleEndian: line.tag)
      bytes.append(littleEndian: line.permissions)
      bytes.append(littleEndian: line.id)
    }
    return bytes
  }
}

extension [UInt8] {
  /// Appends a number, lowest byte first.
  mutating func append<Number: FixedWidthInteger>(littleEndian number: Number) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }
}
