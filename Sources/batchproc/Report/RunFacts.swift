import BatchCore
import BatchEngine

/// What is known of a run, for its report.
struct RunFacts: Sendable {
  /// Something about one path.
  struct Remark: Sendable, Equatable {
    let path: PathBytes?
    let text: String
  }

  /// The first remarks of a kind, how many there were, and how many for each reason.
  struct Remarks: Sendable, Equatable {
    static let most = 200
    static let mostReasons = 40

    private(set) var first: [Remark] = []
    private(set) var count = 0
    /// In the order in which they came up.
    private(set) var reasons: [(text: String, count: Int)] = []

    mutating func add(_ path: PathBytes?, _ text: String) {
      count += 1
      if first.count < Self.most { first.append(Remark(path: path, text: text)) }
      if let index = reasons.firstIndex(where: { $0.text == text }) {
        reasons[index].count += 1
      } else if reasons.count < Self.mostReasons {
        reasons.append((text, 1))
      }
    }

    /// For reasons that are not among ``reasons``.
    var otherCount: Int { count - reasons.reduce(0) { $0 + $1.count } }

    static func == (left: Remarks, right: Remarks) -> Bool {
      left.first == right.first && left.count == right.count
        && left.reasons.elementsEqual(right.reasons) { $0 == $1 }
    }
  }

  /// What a run had done at one moment.
  struct Sample: Sendable, Equatable {
    /// In seconds since its beginning.
    var time: Double
    var files: Int
    var bytes: Int64
    /// Operations at once that were allowed; 0 while the run was suspended.
    var allowed: Int
    var running: Int
  }

  struct Change: Sendable {
    /// In seconds since the beginning.
    let time: Double
    let change: ConcurrencyChange
  }

  let invocation: Invocation
  /// In seconds since 1970.
  let began: Int64
  let seconds: Double
  let ending: Ending
  /// What ended the run, or spoilt an output.
  let fatal: [BatchError]
  let counts: Counters.Snapshot
  /// Nil when the run did not come to its summary.
  let summary: SummaryText?
  let samples: [Sample]
  /// The first changes of the concurrency, and how many there were.
  let changes: [Change]
  let changeCount: Int
  let failures: Remarks
  let warnings: Remarks
  /// Differences that a command looks for.
  let findings: Remarks
  let slowestFiles: [SlowestTimes.Entry]
  let slowestFolders: [SlowestTimes.Entry]
  /// What held for the run, by name.
  let limits: [(name: String, value: String)]
}

/// A command as it was given, with what configuration and environment added.
struct Invocation: Sendable, Equatable {
  struct Option: Sendable, Equatable {
    /// With its dashes.
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
      // A command may hold a password.
      case _ where Self.secret.contains(given.id): return Option(name: "--\(name)", value: "(not shown)")
      default: return Option(name: "--\(name)", value: given.value.shown)
      }
    }
  }

  private static let secret: Set<OptionID> = [.before, .after, .onFailure]
}

extension OptionValue {
  /// For people.
  fileprivate var shown: PathBytes {
    switch self {
    case .flag(let state): PathBytes(String(state))
    case .count(let count): PathBytes(count.map(String.init) ?? "auto")
    case .size(let size): PathBytes(ByteCount.text(size))
    case .decimal(let number): PathBytes("\(number)")
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
  fileprivate var word: String {
    switch self {
    case .ok: "ok"
    case .warn: "warn"
    case .fail: "fail"
    case .retry(let count): "retry:\(count)"
    }
  }
}
