import BatchEngine
import CArchive

/// An entry of libarchive, filled again for each member.
final class LibArchiveEntry {
  let pointer: OpaquePointer

  /// - Throws: `exhausted` when memory is missing.
  init() throws(BatchError) {
    guard let pointer = archive_entry_new() else { throw .noCodecMemory }
    self.pointer = pointer
  }

  deinit {
    archive_entry_free(pointer)
  }

  /// Describes a member; the previous description is cleared.
  ///
  /// - Parameters:
  ///   - number: distinguishes files in formats with inode numbers; 0 for none.
  ///   - isTar: whether the format stores access control lists, and times as decimal numbers.
  func fill(_ entry: ArchiveEntry, number: Int64 = 0, linkCount: UInt32 = 1, isTar: Bool = true) {
    archive_entry_clear(pointer)
    entry.path.withCString { archive_entry_copy_pathname(pointer, $0) }
    archive_entry_set_filetype(pointer, entry.kind.fileKind.mode)
    archive_entry_set_perm(pointer, entry.mode & 0o7777)
    archive_entry_set_uid(pointer, Int64(entry.owner))
    archive_entry_set_gid(pointer, Int64(entry.group))
    if !entry.ownerName.isEmpty {
      PathBytes(entry.ownerName).withCString { archive_entry_copy_uname(pointer, $0) }
    }
    if !entry.groupName.isEmpty {
      PathBytes(entry.groupName).withCString { archive_entry_copy_gname(pointer, $0) }
    }
    let modified = isTar ? Self.decimal(entry.modified) : entry.modified
    archive_entry_set_mtime(pointer, time_t(modified.seconds), Int(modified.nanoseconds))
    archive_entry_set_size(pointer, entry.kind == .file ? Int64(clamping: entry.size) : 0)
    if number > 0 {
      archive_entry_set_ino64(pointer, number)
      archive_entry_set_nlink(pointer, linkCount)
    }
    switch entry.kind {
    case .symbolicLink: entry.linkTarget?.withCString { archive_entry_copy_symlink(pointer, $0) }
    case .hardLink: entry.linkTarget?.withCString { archive_entry_copy_hardlink(pointer, $0) }
    case .characterDevice, .blockDevice:
      archive_entry_set_rdevmajor(pointer, dev_t(entry.deviceMajor))
      archive_entry_set_rdevminor(pointer, dev_t(entry.deviceMinor))
    case .file, .directory, .fifo: break
    }
    for attribute in entry.attributes where isTar || AccessList.type(of: attribute) == nil {
      add(attribute)
    }
    if let map = entry.dataMap { add(map, size: entry.size) }
  }

  private func add(_ attribute: ExtendedAttribute) {
    if let type = AccessList.type(of: attribute), let list = AccessList(attribute.value),
      list.add(to: pointer, type: type)
    {
      return
    }
    PathBytes(attribute.name).withCString { name in
      attribute.value.withUnsafeBytes {
        archive_entry_xattr_add_entry(pointer, name, $0.baseAddress, $0.count)
      }
    }
  }

  private func add(_ map: [Range<UInt64>], size: UInt64) {
    for range in map {
      archive_entry_sparse_add_entry(
        pointer, Int64(clamping: range.lowerBound), Int64(clamping: range.upperBound - range.lowerBound))
    }
    // Without any range the file would count as one without holes.
    if map.isEmpty { archive_entry_sparse_add_entry(pointer, Int64(clamping: size), 0) }
  }

  /// The time for libarchive, which writes the seconds, a point, and the nanoseconds.
  ///
  /// For negative seconds that text means another time, so they are rounded the other way. There is no -0: the record of a
  /// time in the last second before 1970 is corrected afterwards.
  private static func decimal(_ time: FileStatus.Time) -> FileStatus.Time {
    guard time.seconds < 0, time.nanoseconds > 0 else { return time }
    guard time.seconds < -1 else { return FileStatus.Time(seconds: -1, nanoseconds: 0) }
    return FileStatus.Time(seconds: time.seconds + 1, nanoseconds: 1_000_000_000 - time.nanoseconds)
  }
}

extension BatchError {
  /// The error of the last failed call of libarchive.
  static func library(_ archive: OpaquePointer, _ action: String, path: PathBytes? = nil) -> BatchError {
    let text = archive_error_string(archive).map { String(cString: $0) }
    return BatchError(.invalid, text.map { "cannot \(action): \($0)" } ?? "cannot \(action)", path: path)
  }
}
