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
  /// Nil when the run ended before its summary.
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
