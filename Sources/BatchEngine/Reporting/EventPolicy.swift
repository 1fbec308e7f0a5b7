/// How a run treats each class of event.
public struct EventPolicy: Sendable, Hashable {
  /// How one event is treated.
  public enum Action: Sendable, Hashable {
    /// Reported as a note; the path counts as skipped, or as done if it could be processed.
    case ok
    /// Reported as a warning; the path counts as with ``ok``.
    case warn
    /// Reported as a failure; the path counts as failed.
    case fail
    /// Tried again up to this many times (1 or more), then ``fail``.
    case retry(Int)
  }

  private var vanished = Action.ok
  private var changed = Action.warn
  private var unreadable = Action.fail
  private var special = Action.ok

  /// Vanished and special paths are ok, changed ones a warning, unreadable and missing ones a failure.
  public init() {}

  /// The action for an event. Events `missing` and `malformed` are always failures.
  public subscript(event: Problem.Event) -> Action {
    get {
      switch event {
      case .vanished: vanished
      case .changed: changed
      case .unreadable: unreadable
      case .special: special
      case .missing, .malformed: .fail
      }
    }
    set {
      switch event {
      case .vanished: vanished = newValue
      case .changed: changed = newValue
      case .unreadable: unreadable = newValue
      case .special: special = newValue
      case .missing, .malformed: break
      }
    }
  }

  /// How often reading is tried again after an event.
  func retries(after event: Problem.Event) -> Int {
    if case .retry(let count) = self[event] { max(0, count) } else { 0 }
  }

  /// The severity of the event after the last retry.
  package func severity(of event: Problem.Event) -> Severity {
    switch self[event] {
    case .ok: .note
    case .warn: .warning
    case .fail, .retry: .failure
    }
  }
}

/// How severe a problem is, and whether its path counts as failed.
public enum Severity: String, Sendable, Hashable {
  case note, warning, failure
}
