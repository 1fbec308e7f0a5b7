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
}

extension Invocation {
  init(_ parsed: ParsedCommand) {
    let options = parsed.given.map { given in
      let spec = parsed.command.options.first { $0.id == given.id }
      let name = spec?.long[0] ?? given.id.rawValue
      switch given.value {
      case .flag(let state): return Option(name: state ? "--\(name)" : "--no-\(name)", value: nil)
      // A command may contain a password.
      case _ where Self.secret.contains(given.id): return Option(name: "--\(name)", value: "(not shown)")
      default: return Option(name: "--\(name)", value: given.value.shown)
      }
    }
    self.init(command: parsed.command.name, options: options, operands: parsed.operands)
  }

  private static let secret: Set<OptionID> = [.before, .after, .onFailure, .notify]
}

extension OptionValue {
  fileprivate var shown: PathBytes {
    switch self {
    case .size(let size): PathBytes(ByteCount.text(size))
    case .duration(let seconds): PathBytes(DurationText.text(seconds: Double(seconds)))
    case .span(let span): PathBytes("\(span.years)y\(span.months)m\(span.days)d\(span.hours)h")
    default: argument
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
