import BatchEngine
import BatchOutputs
import Dispatch
import Synchronization

/// The children of a run: those that were prepared, are running, or wait to be collected.
///
/// Each holds a place from its preparation until it is collected, which limits the descriptors. A lane that finds no place
/// collects children that have ended, so that lanes never wait for each other.
package final class RunChildren: Sendable {
  package typealias Ended = (child: RunChild, result: Result<ChildEnding, BatchError>)

  private struct State {
    var taken = 0
    /// Children that were started and that no lane has taken since.
    var started = 0
    var ended: [Ended] = []
    /// The lanes that wait for a place or for an end.
    var waiting: [DispatchSemaphore] = []

    mutating func takeEnded() -> Ended? {
      guard !ended.isEmpty else { return nil }
      started -= 1
      return ended.removeFirst()
    }
  }

  /// What a lane that needs a place gets.
  enum Turn {
    case place
    case ended(Ended)
  }

  package let options: CommandOptions
  package let stage: OutputStage
  let mark: CommandMark
  private let runner: ChildRunner
  private let concurrency: ConcurrencyLimit
  private let cancellation: Cancellation
  private let asked: AskedItems<RunItem>?
  private let program: PathBytes?
  private let state = Mutex(State())
  private let paths = Paths()
  private let isEnough = Atomic(false)

  /// The first path of each child in progress, if standard error is passed on at once.
  private final class Paths: Sendable {
    let all = Mutex<[Int: PathBytes]>([:])
  }

  /// - Parameters:
  ///   - asked: requests that children which have ended are collected.
  ///   - program: the file of the program; nil if it depends on the file.
  ///   - errors: receives standard error of the children at once, in whole lines, with the path of the first file.
  /// - Throws: `exhausted` if no thread or process can be started.
  init(
    _ options: CommandOptions, mark: CommandMark, program: PathBytes?, asked: AskedItems<RunItem>?,
    stage: OutputStage, in context: CollectorContext
  ) throws(BatchError) {
    self.options = options
    self.mark = mark
    self.program = program
    self.asked = asked
    self.stage = stage
    concurrency = context.concurrency
    cancellation = context.cancellation
    let (paths, pass) = (paths, options.liveErrors)
    var live: (@Sendable (Int, [UInt8]) -> Void)?
    if let pass {
      live = { (tag, lines) in pass(paths.all.withLock { $0[tag] } ?? PathBytes(""), lines) }
    }
    runner = try ChildRunner(
      concurrency: context.concurrency, cancellation: context.cancellation,
      captures: CaptureStore(memory: context.options.memory / 4, folder: options.temporary),
      liveErrors: live)
    cancellation.onCancel { [weak self] in self?.wake() }
  }

  /// How many children may have places: one more than may run is prepared for each processor or so.
  private var limit: Int {
    let current = concurrency.current
    return max(1, min(options.mostChildren, current + min(current, 8)))
  }

  // MARK: For lanes

  /// Takes a place; waits until there is one, or a child has ended.
  ///
  /// - Throws: the reason, when the run stops.
  func next(checking check: () throws(BatchError) -> Void) throws(BatchError) -> Turn {
    while true {
      try check()
      let signal = DispatchSemaphore(value: 0)
      let turn = state.withLock { state -> Turn? in
        if state.taken < limit {
          state.taken += 1
          return .place
        }
        if let ended = state.takeEnded() { return .ended(ended) }
        state.waiting.append(signal)
        return nil
      }
      if let turn { return turn }
      BlockingWait.run { signal.wait() }
    }
  }

  /// A child that has ended; nil if there is none.
  func nextEnded() -> Ended? { state.withLock { $0.takeEnded() } }

  /// Waits until a child has ended.
  ///
  /// - Returns: nil if no lane can take one any more.
  func waitForEnd(checking check: () throws(BatchError) -> Void) throws(BatchError) -> Ended? {
    while true {
      try check()
      let signal = DispatchSemaphore(value: 0)
      let (ended, isLast) = state.withLock { state -> (Ended?, Bool) in
        if let ended = state.takeEnded() { return (ended, false) }
        if state.started > 0 { state.waiting.append(signal) }
        return (nil, state.started == 0)
      }
      if ended != nil || isLast { return ended }
      BlockingWait.run { signal.wait() }
    }
  }

  /// Gives back the place of a child that was collected, or could not be prepared.
  func giveBack(_ child: RunChild) {
    if options.liveErrors != nil { paths.all.withLock { $0[child.tag] = nil } }
    let waiting = state.withLock { state in
      state.taken -= 1
      defer { state.waiting = [] }
      return state.waiting
    }
    for signal in waiting { signal.signal() }
  }

  /// Starts a child, or another try of it.
  func start(_ child: RunChild, pause: Double = 0) {
    if options.liveErrors != nil { paths.all.withLock { $0[child.tag] = child.path } }
    state.withLock { $0.started += 1 }
    var command = child.command(program: program, options)
    command.pause = pause
    runner.start(command, tag: child.tag) { [weak self] result in
      self?.collect(child, result)
    }
  }

  private func wake() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for signal in waiting { signal.signal() }
  }

  private func collect(_ child: RunChild, _ result: Result<ChildEnding, BatchError>) {
    let waiting = state.withLock { state in
      state.ended.append((child, result))
      defer { state.waiting = [] }
      // Requested under the lock: as soon as another lane can collect the child, the run may end.
      if state.waiting.isEmpty, state.ended.count == 1 { asked?.ask(.ended) }
      return state.waiting
    }
    for signal in waiting { signal.signal() }
  }

  /// Whether further children may be started.
  var startsMore: Bool { !isEnough.load(ordering: .relaxed) }

  // MARK: For the collector

  /// Lets the children end that were started, and starts no more.
  func startNoMore() { isEnough.store(true, ordering: .relaxed) }

  /// Ends all children, and waits for them. Their files are not counted.
  func stop() {
    runner.stop()
    let ended = state.withLock { state in
      defer { state.ended = [] }
      return state.ended
    }
    // Their folders are removed now.
    for (child, _) in ended { child.abandon() }
  }
}
