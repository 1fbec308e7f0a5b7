import BatchEngine
import BatchOutputs

/// The facts about one path in a record, such as the index of an archive or a manifest. Facts that are nil are not recorded and
/// not compared.
package struct RecordedPath: Sendable {
  /// An owner in a record. The same owner may have another number on another system.
  package struct Owner: Sendable, Hashable {
    package let number: UInt32
    /// Empty if only the number is recorded.
    package let name: [UInt8]

    package init(number: UInt32, name: [UInt8] = []) {
      self.number = number
      self.name = name
    }
  }

  /// The path as it is shown. It is relative to the compared folder, and is refused if it leads out of that folder.
  package internal(set) var path: PathBytes
  /// The kind; `regular` for a further name of a file too.
  package let kind: FileStatus.Kind
  /// Whether it is a further name of a file that was recorded earlier; then ``linkTarget`` is its earlier name.
  package var isHardLink = false
  /// An earlier recorded name of the same file, if the content of both names is compared.
  package var firstName: PathBytes?
  /// The size in bytes; compared only for regular files.
  package var size: UInt64?
  package var modified: FileStatus.Time?
  /// Whether ``modified`` has full precision. Otherwise it has the precision of its format: seconds or tenths of microseconds.
  package var isTimeExact = true
  /// The 12 permission bits.
  package var mode: UInt32?
  package var owner: Owner?
  package var group: Owner?
  /// The target of a symbolic link, or the first name of a hard link.
  package var linkTarget: PathBytes?
  /// The number of a character or block device.
  package var device: DeviceNumber?
  /// The attributes of a file or directory, sorted by name, including access control lists.
  package var attributes: [ExtendedAttribute]?
  /// The digest of a regular file's content.
  package var digest: Digest?

  package init(_ path: PathBytes, _ kind: FileStatus.Kind) {
    self.path = path
    self.kind = kind
  }

  /// Whether a time equals the recorded time, in the precision of the record; true if none is recorded.
  package func hasTime(_ time: FileStatus.Time) -> Bool {
    guard let modified else { return true }
    guard time.seconds == modified.seconds else { return false }
    if time.nanoseconds == modified.nanoseconds { return true }
    // Archives of version 0.2 store no fraction for times in the last second before 1970.
    if time.seconds == -1, time.nanoseconds == 0 || modified.nanoseconds == 0 { return true }
    guard !isTimeExact else { return false }
    // Formats store seconds, tenths of microseconds, or nanoseconds.
    if modified.nanoseconds == 0 { return true }
    return modified.nanoseconds % 100 == 0 && modified.nanoseconds / 100 == time.nanoseconds / 100
  }
}
