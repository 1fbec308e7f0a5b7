import BatchCore
import BatchEngine

extension Problem.Event {
  /// The events for which a policy can be chosen, as named on the command line.
  static let choosable: [Problem.Event] = [.vanished, .changed, .unreadable, .special]

  init?(choosable bytes: some Collection<UInt8>) {
    guard let match = Self.choosable.first(where: { $0.rawValue.utf8.elementsEqual(bytes) }) else {
      return nil
    }
    self = match
  }
}

extension EventPolicy.Action {
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
      let number = DecimalDigits.value(of: bytes.dropFirst("retry:".utf8.count)),
      let times = Int(exactly: number), (1...Self.retryLimit).contains(times)
    {
      self = .retry(times)
    } else {
      return nil
    }
  }
}
