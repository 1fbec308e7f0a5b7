/// A problem with one path of the tree that does not end the run.
public struct Problem: Sendable, Hashable {
  /// The classes of events: those that ``EventPolicy`` sets an action for, and those that are always failures.
  public enum Event: String, Sendable, Hashable, CaseIterable {
    /// Listed, but no longer there when it was opened.
    case vanished
    /// Its size, time or inode changed while it was read.
    case changed
    /// Permission denied, a device error, or a folder that cannot be listed to its end.
    case unreadable
    /// No content to read: FIFO, socket, device, symbolic link.
    case special
    /// An operand that does not exist. Always a failure.
    case missing
    /// A row of a manifest that is not valid. Always a failure.
    case malformed
  }

  public let event: Event
  public let error: BatchError
  /// The kind of a special file, if known.
  public let kind: FileStatus.Kind?

  public init(_ event: Event, _ error: BatchError, kind: FileStatus.Kind? = nil) {
    self.event = event
    self.error = error
    self.kind = kind
  }

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
