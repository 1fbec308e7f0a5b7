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

  private var actions: [Problem.Event: Action]

  /// Vanished and special paths are ok, changed ones a warning, unreadable and missing ones a failure.
  public init() {
    actions = [.vanished: .ok, .changed: .warn, .unreadable: .fail, .special: .ok]
  }

  /// The action for an event. Events `missing` and `malformed` are always failures.
  public subscript(event: Problem.Event) -> Action {
    get { actions[event] ?? .fail }
    set { if event != .missing, event != .malformed { actions[event] = newValue } }
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
