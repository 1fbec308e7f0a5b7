import BatchEngine
import BatchOutputs

/// What a record, such as the index of an archive or a manifest, holds of one path. What is nil is not recorded, and is
/// not compared.
package struct RecordedPath: Sendable {
  /// An owner as a record has it. The same owner may have other numbers on another system.
  package struct Owner: Sendable, Hashable {
    package let number: UInt32
    /// Empty where only the number is recorded.
    package let name: [UInt8]

    package init(number: UInt32, name: [UInt8] = []) {
      self.number = number
      self.name = name
    }
  }

  /// As it is shown; it leads below the folder that is compared, and is refused where it leads out of it.
  package internal(set) var path: PathBytes
  /// `regular` for a further name of a file, too.
  package let kind: FileStatus.Kind
  /// Whether it is a further name of a file that was recorded before; ``linkTarget`` is then the name it has there.
  package var isHardLink = false
  /// Another name of the same file, where one was recorded before and both are compared with their content.
  package var firstName: PathBytes?
  /// In bytes; compared for regular files alone.
  package var size: UInt64?
  package var modified: FileStatus.Time?
  /// Whether ``modified`` has all digits. Otherwise it has those that its format keeps: whole seconds or tenths of
  /// microseconds.
  package var isTimeExact = true
  /// The 12 permission bits.
  package var mode: UInt32?
  package var owner: Owner?
  package var group: Owner?
  /// What a symbolic link holds, or the path that a hard link is a further name of.
  package var linkTarget: PathBytes?
  /// Of a character or block device.
  package var device: DeviceNumber?
  /// Of a file or directory, sorted by name; access control lists are among them.
  package var attributes: [ExtendedAttribute]?
  /// Of the content of a regular file.
  package var digest: Digest?

  package init(_ path: PathBytes, _ kind: FileStatus.Kind) {
    self.path = path
    self.kind = kind
  }

  /// Whether a file has the recorded time, to the precision of the record; true where none is recorded.
  package func hasTime(_ time: FileStatus.Time) -> Bool {
    guard let modified else { return true }
    guard time.seconds == modified.seconds else { return false }
    // Of the last second before 1970 the headers of archives keep no fraction.
    if time.nanoseconds == modified.nanoseconds || time.seconds == -1 { return true }
    guard !isTimeExact else { return false }
    // Formats keep seconds, or tenths of microseconds, or all of it.
    if modified.nanoseconds == 0 { return true }
    return modified.nanoseconds % 100 == 0 && modified.nanoseconds / 100 == time.nanoseconds / 100
  }
}
