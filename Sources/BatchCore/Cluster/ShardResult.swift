import BatchEngine
import BatchOutputs
import Synchronization

package struct ShardOutcome: Sendable, Hashable {
  package var counts: Counters.Snapshot
  /// Paths that need no work, such as those whose outputs are up to date; also counted as skipped.
  package var needless = 0
  /// Other counts of the command, by its own names.
  package var findings: [String: Int] = [:]
  /// The duration of the run, in milliseconds.
  package var milliseconds: Int64 = 0
  package var status: Int32 = 0
  package var node = ""

  package init(_ counts: Counters.Snapshot = Counters.Snapshot()) {
    self.counts = counts
  }

  /// The counts of paths, by their names in the lines of a result.
  static var numbers: [(key: String, path: WritableKeyPath<ShardOutcome, Int>)] {
    [
      ("seen", \.counts.seen), ("done", \.counts.done), ("failed", \.counts.failed),
      ("skipped", \.counts.skipped), ("changed", \.counts.changed), ("missing", \.counts.missing),
      ("unavailable", \.counts.unavailable), ("needless", \.needless),
    ]
  }

  /// Whether the counts add up, and no number is negative.
  var isSound: Bool {
    let numbers = Self.numbers.map { self[keyPath: $0.path] } + findings.values
    guard numbers.allSatisfy({ (0...(1 << 48)).contains($0) }), counts.byteCount >= 0, milliseconds >= 0
    else {
      return false
    }
    return counts.seen == counts.done + counts.failed + counts.skipped
  }

  package mutating func add(_ other: ShardOutcome) {
    for (_, path) in Self.numbers { self[keyPath: path] += other[keyPath: path] }
    findings.merge(other.findings) { $0 + min($1, .max - $0) }
    counts.byteCount += min(other.counts.byteCount, .max - counts.byteCount)
    milliseconds = max(milliseconds, other.milliseconds)
  }
}

/// The format of a result: a line of JSON; then pieces, each with a byte for its kind and its 64-bit length; then the 64-bit offset
/// of the last piece, and the SHA-256 of everything before it. Numbers are little-endian.
enum ShardPiece: UInt8 {
  /// Rows of a manifest or a list.
  case rows = 0x52
  /// A line of JSON about a path.
  case problem = 0x50
  /// A frame of an archive.
  case frame = 0x46
  /// The members of a frame, for the index of an archive.
  case members = 0x4D
  /// A file with several names that is not in the archive under its first name.
  case lost = 0x4C
  /// The counts, as a line of JSON; the last piece.
  case end = 0x45

  static let headSize = 9
  static let trailerSize = 40
}

/// Writes the result of a shard, which appears under its name when it is complete.
package final class ShardResultWriter: Sendable {
  private struct State {
    var rows: [UInt8] = []
    var offset: UInt64 = 0
    let digest: DigestStream
  }

  private static let bufferSize = 1 << 20
  /// The remedies that a result stores by name.
  static let remedies: [Remedy] = [
    .lowerConcurrency, .lowerConcurrencyOrMemory, .raiseOrLowerDescriptors, .raiseMemory,
    .raiseOutputLimit, .raiseRatioLimit, .allowHoles, .raiseLevels, .replaceOutput,
    .replaceUnmarked,
  ]

  private let file: AtomicFile
  private let state: Mutex<State>
  private let right: CommitRight
  private let isSynced: Bool

  /// - Parameter isReplacing: whether an existing result is replaced.
  package init(
    _ plan: ShardPlan, shard: Int, in folder: PlanFolder, isReplacing: Bool, isSynced: Bool,
    _ run: RunContext
  ) throws(BatchError) {
    StaleTemporaries.remove(in: folder.opened)
    file = try folder.newFile(ShardPlan.name(shard, "result"), replacing: isReplacing)
    right = run.commits
    self.isSynced = isSynced
    state = Mutex(State(digest: try DigestStream(.sha256)))
    var head = JSONLine("result")
    head.add("schema", ShardPlan.schema)
    head.add("plan", plan.id)
    head.add("command", plan.command)
    head.add("shard", shard)
    head.add("entries_sha256", plan.shards[shard].digest.hex)
    let line = head.finished()
    try state.withLock { (state) throws(BatchError) in try put(line, &state) }
  }

  package func write(rows: [UInt8]) throws(BatchError) {
    try state.withLock { (state) throws(BatchError) in
      state.rows += rows
      if state.rows.count >= Self.bufferSize { try putRows(&state) }
    }
  }

  package func write(_ problem: Problem, severity: Severity) throws(BatchError) {
    var line = JSONLine("problem")
    line.add("severity", severity.rawValue)
    line.add("event", problem.event.rawValue)
    line.add("code", problem.error.code.rawValue)
    line.add("message", problem.error.message)
    line.add("errno", problem.error.errno)
    switch problem.error.remedy {
    case .advice(let text): line.add("advice", text)
    case let remedy? where Self.remedies.contains(remedy): line.add("remedy", "\(remedy)")
    default: break
    }
    if let path = problem.error.path { line.add("path", bytes: path.bytes) }
    try write(.problem, line.finished())
  }

  func write(_ kind: ShardPiece, _ bytes: [UInt8]) throws(BatchError) {
    try state.withLock { (state) throws(BatchError) in
      try putRows(&state)
      try put(kind, bytes, &state)
    }
  }

  /// Writes the counts, and renames the result to its final name.
  ///
  /// - Throws: `invalid` when another result already has the name.
  package func finish(_ outcome: ShardOutcome) throws(BatchError) {
    var end = JSONLine("counts")
    for (key, path) in ShardOutcome.numbers { end.add(key, outcome[keyPath: path]) }
    for (key, number) in outcome.findings.sorted(by: { $0.key < $1.key }) {
      end.add("found_" + key, number)
    }
    end.add("bytes", outcome.counts.byteCount)
    end.add("milliseconds", outcome.milliseconds)
    end.add("status", outcome.status)
    end.add("node", outcome.node)
    let line = end.finished()
    try state.withLock { (state) throws(BatchError) in
      try putRows(&state)
      var trailer: [UInt8] = []
      trailer.appendLittleEndian(state.offset)
      try put(.end, line, &state)
      try put(trailer, &state)
      let digest = try state.digest.finish()
      try withBytes(of: digest.bytes) { (raw) throws(BatchError) in try file.write(raw) }
    }
    // An archive part has the content of files that others may not read.
    try file.commit(AtomicFile.Metadata(permissions: 0o600), syncing: isSynced, by: right)
  }

  package func discard() { file.discard() }

  private func putRows(_ state: inout State) throws(BatchError) {
    guard !state.rows.isEmpty else { return }
    try put(.rows, state.rows, &state)
    state.rows.removeAll(keepingCapacity: true)
  }

  private func put(_ kind: ShardPiece, _ bytes: [UInt8], _ state: inout State) throws(BatchError) {
    var head = [kind.rawValue]
    head.appendLittleEndian(UInt64(bytes.count))
    try put(head, &state)
    try put(bytes, &state)
  }

  private func put(_ bytes: [UInt8], _ state: inout State) throws(BatchError) {
    try state.digest.update(bytes.span.bytes)
    try file.write(bytes.span)
    state.offset += UInt64(bytes.count)
  }
}
