import BatchCore
import BatchEngine

/// A command as given, with the options from configuration and environment.
struct Invocation: Sendable, Equatable {
  struct Option: Sendable, Equatable {
    /// The name with its dashes.
    let name: String
    /// Nil for a flag.
    let value: PathBytes?
  }

  let command: String
  let options: [Option]
  let operands: [PathBytes]

  init(command: String, options: [Option], operands: [PathBytes]) {
    self.command = command
    self.options = options
    self.operands = operands
  }

  init(_ parsed: ParsedCommand) {
    command = parsed.command.name
    operands = parsed.operands
    options = parsed.given.map { given in
      let spec = parsed.command.options.first { $0.id == given.id }
      let name = spec?.long[0] ?? given.id.rawValue
      switch given.value {
      case .flag(let state): return Option(name: state ? "--\(name)" : "--no-\(name)", value: nil)
      // A command may contain a password.
      case _ where Self.secret.contains(given.id): return Option(name: "--\(name)", value: "(not shown)")
      default: return Option(name: "--\(name)", value: given.value.shown)
      }
    }
  }

  private static let secret: Set<OptionID> = [.before, .after, .onFailure, .notify]
}

extension OptionValue {
  /// The value as shown to users.
  fileprivate var shown: PathBytes {
    switch self {
    case .flag(let state): PathBytes(String(state))
    case .count(let count): PathBytes(count.map(String.init) ?? "auto")
    case .size(let size): PathBytes(ByteCount.text(size))
    case .clock(let minutes): PathBytes(OptionValue.text(ofClock: minutes))
    case .percent(let number): PathBytes("\(number)%")
    case .load(.average(let number)): PathBytes("\(number)")
    case .load(.pressure(let number)): PathBytes("pressure:\(number)")
    case .time(let seconds): PathBytes("@\(seconds)")
    case .duration(let seconds): PathBytes(DurationText.text(seconds: Double(seconds)))
    case .span(let span): PathBytes("\(span.years)y\(span.months)m\(span.days)d\(span.hours)h")
    case .choice(let word): PathBytes(word)
    case .bytes(let bytes): bytes
    case .policy(let event, let action): PathBytes("\(event.rawValue)=\(action.word)")
    }
  }
}

extension EventPolicy.Action {
  var word: String {
    switch self {
    case .ok: "ok"
    case .warn: "warn"
    case .fail: "fail"
    case .retry(let count): "retry:\(count)"
    }
  }
}
