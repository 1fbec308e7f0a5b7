/// A problem with one path of the tree, after which the run went on.
public struct Problem: Sendable, Hashable {
  /// The classes of events: those that ``EventPolicy`` sets an action for, and those that are always failures.
  public enum Event: String, Sendable, Hashable, CaseIterable {
    /// Listed, and gone when it was to be read.
    case vanished
    /// Its size, time or inode moved while it was read.
    case changed
    /// Refused or broken: permission, device error, a folder that lists no further.
    case unreadable
    /// Nothing to read in it: FIFO, socket, device, symbolic link.
    case special
    /// An operand that is not there. Always a failure.
    case missing
    /// A row of a manifest that is not valid. Always a failure.
    case malformed
  }

  public let event: Event
  public let error: BatchError
  /// The kind of a special file, where it is known.
  public let kind: FileStatus.Kind?

  public init(_ event: Event, _ error: BatchError, kind: FileStatus.Kind? = nil) {
    self.event = event
    self.error = error
    self.kind = kind
  }
}

extension Problem {
  /// The class that the code of an error belongs to.
  public init(_ error: BatchError) {
    let event: Event =
      switch error.code {
      case .vanished: .vanished
      case .changed: .changed
      case .special: .special
      case .missing: .missing
      default: .unreadable
      }
    self.init(event, error)
  }
}
