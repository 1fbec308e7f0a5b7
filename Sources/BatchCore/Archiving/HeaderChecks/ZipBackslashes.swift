import BatchEngine

/// Backslashes in the names of zip members: which of them separate folders.
///
/// libarchive makes a slash of each backslash in a name that has no slash, whatever system made the zip. Info-ZIP's unzip does
/// that only for systems whose paths have backslashes. On Unix a backslash is a byte of a name like any other.
enum ZipBackslashes {
  private static let backslash = UInt8(ascii: "\\")
  private static let slash = UInt8(ascii: "/")
  /// The systems with such paths, as numbers in "version made by" (PKWARE APPNOTE 4.4.2): FAT, NTFS (10, and 11 as Info-ZIP
  /// writes it), VFAT.
  private static let systems: Set<UInt8> = [0, 10, 11, 14]
  /// Extra fields of the local header: libarchive's, which has "version made by", and the times of NTFS.
  private static let libraryField: UInt16 = 0x6c78
  private static let timesOfNTFS: UInt16 = 0x000a

  /// Whether libarchive changes a name.
  static func areChanged(in name: some Collection<UInt8>) -> Bool {
    name.contains(backslash) && !name.contains(slash)
  }

  static func separate(onSystem system: UInt8) -> Bool { systems.contains(system) }

  /// Whether a local header shows that they separate folders. Most local headers do not say which system made them.
  ///
  /// - Parameter extra: its extra field.
  static func separate(byExtra extra: ArraySlice<UInt8>) -> Bool {
    var reader = LittleEndianReader(extra)
    while let kind = reader.number(UInt16.self), let size = reader.number(UInt16.self),
      let content = reader.take(Int(size))
    {
      if kind == timesOfNTFS { return true }
      guard kind == libraryField else { continue }
      // A map of the fields that follow; the first one is "version made by".
      var fields = LittleEndianReader(content)
      guard let map = fields.number(UInt8.self), map & 1 != 0, let version = fields.number(UInt16.self)
      else { continue }
      return separate(onSystem: UInt8(version >> 8))
    }
    return false
  }

  /// The path of a member whose backslashes separate nothing.
  ///
  /// - Parameters:
  ///   - path: from libarchive.
  ///   - name: as it is stored.
  /// - Throws: `unsupported` for a name that libarchive takes for that of a folder.
  static func restored(_ path: PathBytes, from name: [UInt8]) throws(BatchError) -> PathBytes {
    guard name.last != backslash else {
      throw BatchError(.unsupported, "unsupported: a name in a zip that ends in a backslash")
    }
    // Another name may be in an extra field.
    let changed = name.map { $0 == backslash ? slash : $0 }
    return changed == path.bytes ? PathBytes(name) : path
  }
}
