/// What can befall an input and is not an error of the run by itself.
enum EventClass: String, Sendable, Hashable, CaseIterable {
  case vanished, changed, unreadable, special

  init?(bytes: some Collection<UInt8>) {
    guard let match = EventClass.allCases.first(where: { $0.rawValue.utf8.elementsEqual(bytes) }) else {
      return nil
    }
    self = match
  }
}

/// What the run does about an event.
enum PolicyAction: Sendable, Hashable {
  case ok
  case warn
  case fail
  /// Try again up to this many times, then fail.
  case retry(Int)

  static let retryLimit = 100
  static let examples = ["ok", "warn", "fail", "retry:3"]

  init?(bytes: some Collection<UInt8>) {
    if bytes.elementsEqual("ok".utf8) {
      self = .ok
    } else if bytes.elementsEqual("warn".utf8) {
      self = .warn
    } else if bytes.elementsEqual("fail".utf8) {
      self = .fail
    } else if bytes.starts(with: "retry:".utf8),
      let number = wholeNumber(bytes.dropFirst("retry:".utf8.count)),
      let times = Int(exactly: number), (1...PolicyAction.retryLimit).contains(times)
    {
      self = .retry(times)
    } else {
      return nil
    }
  }
}
