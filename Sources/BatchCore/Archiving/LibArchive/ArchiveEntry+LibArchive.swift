import BatchEngine
import CArchive
import func Glibc.strlen

extension ArchiveEntry {
  /// Converts a member that libarchive has read.
  ///
  /// - Throws: `malformed` when the member has no name or an unknown kind.
  init(libarchive entry: OpaquePointer) throws(BatchError) {
    guard let name = bytes(archive_entry_pathname(entry)) ?? bytes(archive_entry_pathname_utf8(entry)) else {
      throw BatchError(.malformed, "a member whose name cannot be read")
    }
    guard !name.isEmpty else { throw BatchError(.malformed, "damaged: a member has no name") }
    let path = PathBytes(Self.withoutSlashes(name[...]))
    let hardLink = bytes(archive_entry_hardlink(entry))
    guard let kind = Self.kind(of: entry, isHardLink: hardLink != nil) else {
      throw BatchError(.special, "is of a kind that cannot be extracted", path: path)
    }
    let seconds = Int64(archive_entry_mtime(entry))
    let nanoseconds = Int64(archive_entry_mtime_nsec(entry))
    let attributes = Self.attributes(of: entry)
    self.init(
      path: path, kind: kind,
      size: kind == .file || kind == .hardLink ? UInt64(max(0, archive_entry_size(entry))) : 0,
      mode: Self.mode(of: entry, attributes),
      owner: UInt32(exactly: archive_entry_uid(entry)) ?? .max,
      group: UInt32(exactly: archive_entry_gid(entry)) ?? .max,
      ownerName: bytes(archive_entry_uname(entry)) ?? [], groupName: bytes(archive_entry_gname(entry)) ?? [],
      modified: FileStatus.Time(
        seconds: seconds, nanoseconds: (0..<1_000_000_000).contains(nanoseconds) ? Int32(nanoseconds) : 0),
      linkTarget: (hardLink ?? (kind == .symbolicLink ? bytes(archive_entry_symlink(entry)) ?? [] : nil))
        .map { PathBytes($0) },
      deviceMajor: UInt32(truncatingIfNeeded: archive_entry_rdevmajor(entry)),
      deviceMinor: UInt32(truncatingIfNeeded: archive_entry_rdevminor(entry)),
      attributes: attributes, dataMap: Self.dataMap(of: entry))
    hasSize = kind != .file || archive_entry_size_is_set(entry) != 0
    // libarchive clamps times that are out of range.
    hasTime = -Int64.max < seconds && seconds < .max
  }

  /// With an access control list, libarchive returns the rights of the owning group in place of the mask.
  private static func mode(of entry: OpaquePointer, _ attributes: [ExtendedAttribute]) -> UInt32 {
    let mode = UInt32(archive_entry_perm(entry)) & 0o7777
    let list = attributes.first { $0.name == AccessList.accessName }
    guard let mask = list.flatMap({ AccessList($0.value)?.maskRights }) else { return mode }
    return mode & ~0o070 | mask << 3
  }

  private static func kind(of entry: OpaquePointer, isHardLink: Bool) -> Kind? {
    if isHardLink { return .hardLink }
    let type = archive_entry_filetype(entry)
    // Archives from other systems may not store the kind.
    return type == 0 ? .file : Kind(FileStatus.Kind(mode: type))
  }

  private static func attributes(of entry: OpaquePointer) -> [ExtendedAttribute] {
    var attributes = [ExtendedAttribute]()
    archive_entry_xattr_reset(entry)
    var name: UnsafePointer<CChar>?
    var value: UnsafeRawPointer?
    var size = 0
    while archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK {
      guard let name = bytes(name) else { continue }
      attributes.append(
        ExtendedAttribute(name: name, value: Array(UnsafeRawBufferPointer(start: value, count: size))))
    }
    for (type, name) in [
      (ARCHIVE_ENTRY_ACL_TYPE_ACCESS, AccessList.accessName),
      (ARCHIVE_ENTRY_ACL_TYPE_DEFAULT, AccessList.defaultName),
    ] {
      guard !attributes.contains(where: { $0.name == name }), let list = AccessList(entry, type: type) else {
        continue
      }
      attributes.append(ExtendedAttribute(name: name, value: list.bytes))
    }
    return attributes
  }

  private static func dataMap(of entry: OpaquePointer) -> [Range<UInt64>]? {
    guard archive_entry_sparse_reset(entry) > 0 else { return nil }
    var map = [Range<UInt64>]()
    var offset: Int64 = 0
    var length: Int64 = 0
    while archive_entry_sparse_next(entry, &offset, &length) == ARCHIVE_OK {
      guard let start = UInt64(exactly: offset), let count = UInt64(exactly: length) else { continue }
      let (end, isHuge) = start.addingReportingOverflow(count)
      if !isHuge { map.append(start..<end) }
    }
    return map
  }
}

/// The bytes of a C string; nil for a null pointer.
private func bytes(_ text: UnsafePointer<CChar>?) -> [UInt8]? {
  guard let text else { return nil }
  return Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
}
