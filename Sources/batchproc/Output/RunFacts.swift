import BatchCore
import BatchEngine

/// The facts about a run for its report.
struct RunFacts: Sendable {
  /// A remark about one path.
  struct Remark: Sendable, Equatable {
    let path: PathBytes?
    let text: String
  }

  /// The first remarks of a kind, how many there were, and how many for each reason.
  struct Remarks: Sendable {
    static let most = 200
    static let mostReasons = 40

    private(set) var first: [Remark] = []
    private(set) var count = 0
    /// The reasons, in the order of their first occurrence.
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

    var otherCount: Int { count - reasons.reduce(0) { $0 + $1.count } }
  }

  /// The progress of a run at one moment.
  struct Sample: Sendable, Equatable {
    /// Seconds since the beginning of the run.
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
  let began = FileStatus.Time.now.seconds
  var seconds = 0.0
  var ending = Ending.exit(.success)
  /// Errors that ended the run, or made an output invalid.
  var fatal: [BatchError] = []
  var counts = Counters.Snapshot()
  /// Nil when the run ended before its summary.
  var summary: SummaryText?
  var samples: [Sample] = []
  /// The first changes of the concurrency, and how many there were.
  var changes: [Change] = []
  var changeCount = 0
  var failures = Remarks()
  var warnings = Remarks()
  /// Differences that the command found.
  var findings = Remarks()
  var slowestFiles: [SlowestTimes.Entry] = []
  var slowestFolders: [SlowestTimes.Entry] = []
  var limits: [(name: String, value: String)] = []
}
