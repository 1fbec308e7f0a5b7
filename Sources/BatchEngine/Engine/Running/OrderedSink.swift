import Dispatch
import Synchronization

/// Delivers results one at a time in the order of their indices; they may arrive in any order.
///
/// A serial queue replaces a lock: results may come from any thread, and calls of `deliver` never overlap. One block on the
/// queue delivers all results that are due.
final class OrderedSink<Value: Sendable>: Sendable {
  private struct State {
    var arrived: [Int: Value] = [:]
    var next = 0
    var isScheduled = false
  }

  private let state = Mutex(State())
  private let queue: DispatchQueue
  private let deliver: @Sendable (Value) -> Void
  private let scheduled: @Sendable () -> Void
  private let drained: @Sendable () -> Void

  /// - Parameters:
  ///   - queue: a serial queue on which `deliver` is called.
  ///   - scheduled: called before a block that delivers results is added to the queue.
  ///   - drained: called at the end of each such block.
  ///   - deliver: called with the results of the indices 0, 1, 2 … without a gap.
  init(
    on queue: DispatchQueue = DispatchQueue(label: "batchproc.sink"),
    scheduled: @escaping @Sendable () -> Void = {}, drained: @escaping @Sendable () -> Void = {},
    deliver: @escaping @Sendable (Value) -> Void
  ) {
    self.queue = queue
    self.scheduled = scheduled
    self.drained = drained
    self.deliver = deliver
  }

  /// Results that have arrived but are not delivered yet: those after a gap, and those in the queue.
  var backlog: Int { state.withLock { $0.arrived.count } }

  func submit(_ value: Value, at index: Int) {
    let isFirst = state.withLock { state in
      state.arrived[index] = value
      // A result after a gap is delivered together with the one that closes the gap.
      guard index == state.next, !state.isScheduled else { return false }
      state.isScheduled = true
      return true
    }
    guard isFirst else { return }
    scheduled()
    queue.async {
      self.drain()
      self.drained()
    }
  }

  /// Takes a result that is delivered as soon as possible, between those with an index.
  func submit(_ value: Value) {
    scheduled()
    queue.async {
      self.deliver(value)
      self.drained()
    }
  }

  /// Returns when all results are delivered that were submitted before and have no gap before them.
  func flush() {
    queue.sync { drain() }
  }

  /// Delivers what has arrived, also after a gap. No result may be submitted afterwards.
  func flushPastGaps() {
    queue.sync {
      drain()
      let rest = state.withLock { state in
        defer { state.arrived = [:] }
        return state.arrived.sorted { $0.key < $1.key }
      }
      for (_, value) in rest { deliver(value) }
    }
  }

  private func drain() {
    while true {
      let due = state.withLock { state -> Value? in
        guard let value = state.arrived.removeValue(forKey: state.next) else {
          state.isScheduled = false
          return nil
        }
        state.next += 1
        return value
      }
      guard let due else { return }
      deliver(due)
    }
  }
}

/// The outcome of one chunk: its results, and the problems that arose between them.
struct ChunkReport<Output: ChunkOutput & Sendable>: Sendable {
  let output: Output
  /// Each with the number of results that belong before it.
  let problems: [(Problem, Severity, position: Int)]
  /// Empty if times of files are not needed.
  var times: [FileTime] = []
  /// Bytes that the chunk keeps in memory.
  var retained: Int64 = 0

  /// Delivers results and problems in the order in which they arose.
  func deliver(
    _ collect: (Output) throws(BatchError) -> Void, _ report: (Problem, Severity) -> Void
  ) throws(BatchError) {
    guard !problems.isEmpty else { return try collect(output) }
    var position = 0
    for (problem, severity, before) in problems {
      let next = min(max(before, position), output.count)
      if next > position { try collect(output.part(position..<next)) }
      position = next
      report(problem, severity)
    }
    if position < output.count { try collect(output.part(position..<output.count)) }
  }
}

extension OrderedSink {
  func submit<Item>(_ report: Value, of chunk: Chunk<Item>) {
    if chunk.isOrdered { submit(report, at: chunk.index) } else { submit(report) }
  }
}
