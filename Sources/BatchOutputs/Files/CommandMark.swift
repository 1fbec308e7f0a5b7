import BatchEngine
import var Glibc.ENODATA
import var Glibc.ENOSYS
import var Glibc.ENOTSUP

/// Which command made a file, as an extended attribute of the file.
///
/// The value is the digest of the command. For a file that was changed in place its size in bytes and its modification time follow, as
/// they were then: `DIGEST SIZE SECONDS.NANOSECONDS`.
package struct CommandMark: Sendable, Hashable {
  package static let attribute = Array("user.batchproc.command".utf8)

  private let digest: [UInt8]

  /// - Parameter digest: in hexadecimal digits, of the words of the command and the options that change its result.
  package init(digest: [UInt8]) { self.digest = digest }

  /// The mark of an output.
  package var stored: FileMark { FileMark(name: Self.attribute, value: digest) }

  /// The mark of a file that the command changed in place.
  package func stored(size: Int64, modified: FileStatus.Time) -> FileMark {
    FileMark(
      name: Self.attribute, value: digest + Array(" \(size) \(modified.seconds).\(modified.nanoseconds)".utf8)
    )
  }

  /// What a file says about the command that made it.
  package enum Found: Sendable, Hashable {
    /// It was made by this command; in place, and not changed since then.
    case same
    /// It was made by another command, or changed since then.
    case other
    case none
    case unreadable
    /// The file system stores no such attributes.
    case unsupported
  }

  /// Reads the mark of an open file.
  ///
  /// - Parameter status: of the file if it is changed in place; nil for an output.
  package func find(on file: Int32, inPlace status: FileStatus? = nil) -> Found {
    let (value, failed) = AttributeReader.attribute(Self.attribute, of: file)
    if let value {
      let own = status.map { stored(size: $0.size, modified: $0.modified).value } ?? digest
      return value == own ? .same : .other
    }
    switch failed {
    case ENODATA: return .none
    case ENOTSUP, ENOSYS: return .unsupported
    default: return .unreadable
    }
  }
}
