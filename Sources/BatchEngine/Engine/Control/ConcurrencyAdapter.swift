import Dispatch
import Synchronization

/// Adapts the number of operations during a run, as ``AdaptiveConcurrency`` decides.
///
/// The number is not adapted while it is fixed or halved or the run is suspended; afterwards adaptation continues from the
/// current number. When the number of processors changes, the number is reset to the one with which a new run would begin.
final class ConcurrencyAdapter: Sendable {
  /// The measurements, which a test can replace.
  struct Meters: Sendable {
    /// Since any fixed moment.
    var time: @Sendable () -> Duration
    /// Processor time used by the threads of the process.
    var computed: @Sendable () -> Duration = { ProcessorTime.computed() }
    /// Threads that wait for a device.
    var blocked: @Sendable () -> Int = { ProcessorTime.blockedThreads() }
    /// How many processors the process may use now; a fraction if a quota limits them. Reads some small files.
    var processors: @Sendable () -> Double = { Capacity.current().processors }

    /// The measurements of this machine.
    init() {
      let start = ContinuousClock.now
      time = { ContinuousClock.now - start }
    }
  }

  private struct State {
    var controller: AdaptiveConcurrency
    /// Nil before they are read first.
    var processors: Double?
    /// The first reading is late enough that short runs do not take it.
    var nextLook = Duration.seconds(1)
    /// Whether the number of processors has changed, and the number of operations has not been reset yet.
    var hasOtherProcessors = false
    var wasHeld = false
    /// The interval of the timer, in milliseconds.
    var interval = 0
  }

  /// Milliseconds between two readings: during a trial, and otherwise.
  private static let interval = 10
  private static let restInterval = 50
  /// The time between two readings of the number of processors.
  private static let lookInterval = Duration.seconds(10)
  private let context: RunContext
  private let meters: Meters
  private let state: Mutex<State>
  private let queue = DispatchQueue(label: "batchproc.adapt")
  private let timer: RepeatingTimer

  /// Nil if the options of the run fix its number.
  init?(_ context: RunContext, meters: Meters = Meters()) {
    guard let most = context.options.mostConcurrency, most > 1 else { return nil }
    self.context = context
    self.meters = meters
    state = Mutex(
      State(
        controller: AdaptiveConcurrency(
          start: context.concurrency.wanted, ceiling: most, processors: context.options.processors,
          isCareful: context.options.isConcurrencyCareful)))
    timer = RepeatingTimer(on: queue)
    timer.handle { [weak self] in self?.tick() }
  }

  func start() {
    queue.async { self.tick() }
  }

  /// Stops the adaptation; the number does not change after this returns.
  func stop() {
    timer.stop()
    queue.sync {}
  }

  private func tick() {
    look()
    let (old, new) = state.withLock { state in
      let old = state.interval
      state.interval = state.controller.isSettled ? Self.restInterval : Self.interval
      return (old, state.interval)
    }
    guard new != old else { return }
    timer.schedule(every: .milliseconds(new))
  }

  /// Takes a reading and changes the number if needed.
  func look() {
    guard let change = state.withLock({ step(&$0) }) else { return }
    context.concurrency.set(change.new)
    context.report(change)
  }

  private func step(_ state: inout State) -> ConcurrencyChange? {
    let concurrency = context.concurrency
    let reading = read()
    lookAtProcessors(reading.time, &state)
    guard !concurrency.isHeld else {
      state.wasHeld = true
      return nil
    }
    let old = concurrency.wanted
    if let change = followProcessors(from: old, &state) { return change }
    let isMoved = state.controller.level != old
    if isMoved || state.wasHeld {
      state.controller = adapting(from: old, isCareful: isMoved || state.controller.isSettled, state)
    }
    state.wasHeld = false
    guard let reason = state.controller.take(reading) else { return nil }
    let wanted = state.controller.level
    let new = context.affordable(wanted)
    if new != wanted { state.controller = adapting(from: new, ceiling: new, isCareful: true, state) }
    guard new != old else { return nil }
    let speed = state.controller.measured
    return ConcurrencyChange(
      from: old, to: new, reason, filesPerSecond: speed.files, bytesPerSecond: speed.bytes)
  }

  private func lookAtProcessors(_ now: Duration, _ state: inout State) {
    guard now >= state.nextLook else { return }
    state.nextLook = now + Self.lookInterval
    let processors = meters.processors()
    state.hasOtherProcessors = state.hasOtherProcessors || processors != state.processors ?? processors
    state.processors = processors
  }

  /// Resets the number of operations when the number of processors has changed.
  private func followProcessors(from old: Int, _ state: inout State) -> ConcurrencyChange? {
    guard state.hasOtherProcessors, let processors = state.processors else { return nil }
    state.hasOtherProcessors = false
    state.wasHeld = false
    let most = context.options.mostConcurrency ?? old
    let new = context.affordable(max(1, min(most, Int(processors.rounded(.up)))))
    state.controller = adapting(
      from: new, ceiling: most, isCareful: context.options.isConcurrencyCareful, state)
    return new == old ? nil : ConcurrencyChange(from: old, to: new, .processors)
  }

  private func adapting(
    from level: Int, ceiling: Int? = nil, isCareful: Bool, _ state: State
  ) -> AdaptiveConcurrency {
    AdaptiveConcurrency(
      start: level, ceiling: ceiling ?? state.controller.ceiling,
      processors: state.processors ?? context.options.processors, isCareful: isCareful)
  }

  private func read() -> AdaptiveConcurrency.Reading {
    let concurrency = context.concurrency
    return AdaptiveConcurrency.Reading(
      time: meters.time(), files: context.filesInProgress.begunCount, bytes: context.counters.progress.bytes,
      processorTime: meters.computed(),
      blocked: meters.blocked(), running: concurrency.isSuspended ? 0 : concurrency.runningCount,
      hasMore: concurrency.hasMore, isExhausted: concurrency.isExhausted)
  }
}
