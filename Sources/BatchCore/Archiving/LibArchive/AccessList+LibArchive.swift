import BatchEngine
import CArchive

/// Converts access control lists to libarchive and back.
extension AccessList {
  private static let tags: [(kernel: UInt16, library: Int32)] = [
    (owner, ARCHIVE_ENTRY_ACL_USER_OBJ), (user, ARCHIVE_ENTRY_ACL_USER),
    (owningGroup, ARCHIVE_ENTRY_ACL_GROUP_OBJ), (group, ARCHIVE_ENTRY_ACL_GROUP),
    (mask, ARCHIVE_ENTRY_ACL_MASK), (others, ARCHIVE_ENTRY_ACL_OTHER),
  ]

  /// libarchive's type of the access control list in an attribute; nil for other attributes.
  static func type(of attribute: ExtendedAttribute) -> Int32? {
    switch attribute.name {
    case accessName: ARCHIVE_ENTRY_ACL_TYPE_ACCESS
    case defaultName: ARCHIVE_ENTRY_ACL_TYPE_DEFAULT
    default: nil
    }
  }

  /// Adds the lines to an entry, with users and groups by number.
  ///
  /// - Returns: false, with no line added, for a list with an unknown tag, or with a number that libarchive cannot hold: it would write 0,
  ///   which is root.
  func add(to entry: OpaquePointer, type: Int32) -> Bool {
    var rows: [(rights: Int32, tag: Int32, id: Int32)] = []
    for line in lines {
      guard let tag = Self.tags.first(where: { $0.kernel == line.tag })?.library,
        let id = Self.isNamed(line) ? Int32(exactly: line.id) : -1
      else { return false }
      // Read, write and execute have the same bits in both formats.
      rows.append((Int32(line.rights), tag, id))
    }
    for row in rows { archive_entry_acl_add_entry(entry, type, row.rights, row.tag, row.id, nil) }
    return true
  }

  /// The list of an entry; nil if it only has a mode.
  init?(_ entry: OpaquePointer, type: Int32) {
    guard archive_entry_acl_count(entry, type) > 0 else { return nil }
    archive_entry_acl_reset(entry, type)
    var lines: [Line] = []
    var found: Int32 = 0
    var rights: Int32 = 0
    var tag: Int32 = 0
    var id: Int32 = 0
    var name: UnsafePointer<CChar>?
    while archive_entry_acl_next(entry, type, &found, &rights, &tag, &id, &name) == ARCHIVE_OK {
      guard let kernel = Self.tags.first(where: { $0.library == tag })?.kernel else { continue }
      let number: UInt32? =
        switch kernel {
        case Self.user: UInt32(exactly: id) ?? name.flatMap(Accounts.user)
        case Self.group: UInt32(exactly: id) ?? name.flatMap(Accounts.group)
        default: .max
        }
      // A name without an account on this system gets no rights.
      guard let number else { continue }
      lines.append(Line(tag: kernel, rights: UInt32(truncatingIfNeeded: rights) & 7, id: number))
    }
    guard !lines.isEmpty else { return nil }
    // The kernel refuses a list with named entries but without a mask.
    if lines.contains(where: Self.isNamed), !lines.contains(where: { $0.tag == Self.mask }) {
      let all = lines.filter { $0.tag != Self.owner && $0.tag != Self.others }
      lines.append(Line(tag: Self.mask, rights: all.reduce(0) { $0 | $1.rights }, id: .max))
    }
    self.init(lines.sorted { ($0.tag, $0.id) < ($1.tag, $1.id) })
  }

  private static func isNamed(_ line: Line) -> Bool { line.tag == user || line.tag == group }

  /// The list in the format of the kernel.
  var bytes: [UInt8] {
    var bytes: [UInt8] = [2, 0, 0, 0]
    for line in lines {
      bytes.appendLittleEndian(line.tag)
      bytes.appendLittleEndian(UInt16(truncatingIfNeeded: line.rights))
      bytes.appendLittleEndian(line.id)
    }
    return bytes
  }
}
