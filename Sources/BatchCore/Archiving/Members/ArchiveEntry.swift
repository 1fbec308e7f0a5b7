import BatchEngine

/// The description of one member in an archive, in types that depend neither on the format nor on the platform.
package struct ArchiveEntry: Sendable, Hashable {
  /// The kind of a member. The value is the type flag of tar, which the index uses too.
  package enum Kind: UInt8, Sendable, CaseIterable {
    case file = 0x30
    case hardLink, symbolicLink, characterDevice, blockDevice, directory, fifo
  }

  /// The path in the archive, any bytes; without a final slash.
  package var path: PathBytes
  package var kind: Kind
  /// Bytes of content, holes included; 0 for a member without content.
  package var size: UInt64 = 0
  /// False for a file whose size follows its content, as in a zip that was written as a stream; then ``size`` is 0.
  package var hasSize = true
  /// Whether it is a name of a cpio file with several names: `newc` stores the content at one of them, usually the last one.
  package var sharesContent = false
  /// Whether this is the last name of a file that shares its content, and no name has content.
  package var isKnownEmpty = false
  /// The 12 permission bits.
  package var mode: UInt32 = 0o644
  /// False if the archive has no mode for it; then libarchive sets ``mode`` to one with which anybody may write.
  package var hasMode = true
  /// `UInt32.max` if the archive has no owner or an impossible one.
  package var owner: UInt32 = 0
  package var group: UInt32 = 0
  /// Empty if the archive has only numbers.
  package var ownerName: [UInt8] = []
  package var groupName: [UInt8] = []
  package var modified = FileStatus.Time(seconds: 0, nanoseconds: 0)
  /// False if the time in the archive is not a number, or is out of range.
  package var hasTime = true
  /// The target of a symbolic link, or the first name of a hard link.
  package var linkTarget: PathBytes?
  package var deviceMajor: UInt32 = 0
  package var deviceMinor: UInt32 = 0
  /// Includes POSIX access control lists, in the format of the kernel, and capabilities.
  package var attributes: [ExtendedAttribute] = []
  /// The data ranges of a sparse file; nil if it is not sparse.
  package var dataMap: [Range<UInt64>]?

  /// A name as ``path`` has it.
  static func withoutSlashes(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var name = name
    while name.count > 1, name.last == UInt8(ascii: "/") { name.removeLast() }
    return name
  }

  /// Whether a later hard link may have the content of this file: the first name of a cpio file, which is empty in some forms.
  var mayShare: Bool { kind == .file && (size == 0 || sharesContent) }

  /// Checks where the content of a file ends. A sparse file has content up to the end of its last data range.
  ///
  /// - Throws: `malformed` if there is less or more content than the size says.
  func checkSize(end: UInt64) throws(BatchError) {
    guard end <= size else {
      throw BatchError(.malformed, "damaged: there is more content than its size says")
    }
    let needed = dataMap.map { $0.last { !$0.isEmpty }?.upperBound ?? 0 } ?? size
    guard end >= min(needed, size) else {
      throw BatchError(.malformed, "damaged: there is less content than its size says")
    }
  }

  /// Whether the content of the file is stored with this name. Of an empty file with several names, it is the last name.
  var hasOwnContent: Bool { sharesContent ? size > 0 || isKnownEmpty : kind == .file }
}
