import BatchEngine
import var Glibc.ENODATA
import var Glibc.ENOSYS
import var Glibc.ENOTSUP

/// An extended attribute by which later runs recognize a file that this program made.
package struct FileMark: Sendable, Hashable {
  let name: [UInt8]
  package let value: [UInt8]

  /// The names of all marks. No mark is copied from a source.
  static let names = [OutputMark.attribute, CommandMark.attribute]

  package static let kept = OutputMark.kept.stored
  package static let removed = OutputMark.removed.stored
}

/// Whether the source of an output was kept, as an extended attribute of the output.
///
/// Only an output whose source was kept is replaced without being asked: any other one may be the only copy of its content.
/// The mark belongs to one output. It is never copied from a source.
package enum OutputMark: String, Sendable {
  case kept
  /// The source was to be removed when the output was complete.
  case removed

  package static let attribute = Array("user.batchproc.source".utf8)

  package var value: [UInt8] { Array(rawValue.utf8) }
  package var stored: FileMark { FileMark(name: Self.attribute, value: value) }

  enum Found: Hashable {
    case mark(OutputMark)
    case none
    case unreadable
    /// The file system stores no such attributes.
    case unsupported
  }

  /// Reads the mark of an open file. An unknown value counts as none.
  static func find(on file: Int32) -> Found {
    let (value, failed) = AttributeReader.attribute(attribute, of: file)
    if let value {
      return OutputMark(rawValue: String(decoding: value, as: UTF8.self)).map { .mark($0) } ?? .none
    }
    switch failed {
    case ENODATA: return .none
    case ENOTSUP, ENOSYS: return .unsupported
    default: return .unreadable
    }
  }
}
