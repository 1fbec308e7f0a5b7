import Dispatch

/// Lowers the memory of a run while memory is short, and raises it again in the same steps.
///
/// A step halves the number of operations, and the bytes that wait to be collected. Lanes that are idle then are freed with
/// their buffers. Memory is short while all threads of the control group wait for it, and when the limit of the group is lower
/// than at the start of the run.
final class MemoryGovernor: Sendable {
  /// Percent of the time: more is a shortage, and less is none.
  private static let shortStall = 10.0
  private static let noStall = 1.0
  /// Seconds between two readings. The kernel updates its averages every 2 s.
  private static let interval = 2
  /// At most so many steps: then the memory of the run is a 256th of what it was.
  static let mostHalvings = 8

  private let run: RunContext
  private let shortage: @Sendable () -> MemoryShortage
  private let queue = DispatchQueue(label: "batchproc.memory")
  private let timer: RepeatingTimer

  /// - Parameter shortage: replaces that of the machine, for tests.
  init(_ run: RunContext, shortage: @escaping @Sendable () -> MemoryShortage = { .current() }) {
    self.run = run
    self.shortage = shortage
    timer = RepeatingTimer(on: queue)
    timer.handle { [weak self] in self?.step() }
  }

  /// Reads every few seconds from now on; a short run takes no reading.
  func start() {
    timer.schedule(every: .seconds(Self.interval), leeway: .milliseconds(200))
  }

  /// Ends the readings, and the reduction: another run may use the same number of operations.
  func stop() {
    timer.stop()
    queue.sync { run.concurrency.setHalvings(0, by: .memory) }
  }

  /// Reads once, and takes a step if needed.
  func sample() {
    queue.sync { step() }
  }

  private func step() {
    let now = shortage()
    // Runs that share the limit share this number too: another of them may have ended meanwhile, and reset it.
    let old = run.concurrency.memoryHalvings
    var new = old
    if now.stalled ?? 0 > Self.shortStall {
      new = old + 1
    } else if now.stalled ?? 0 < Self.noStall {
      new = old - 1
    }
    new = max(0, new)
    // A lower limit of the group holds from this moment on, so it takes effect in one step. A fifth less needs no step.
    while new < Self.mostHalvings, let limit = now.limit,
      let planned = run.options.memoryLimit.map({ $0 >> new }),
      planned - planned / 5 > limit
    {
      new += 1
    }
    new = min(new, Self.mostHalvings)
    if new != old { apply(new) }
    // Lanes free their buffers when their operations end, so the heap is trimmed at each reading.
    if new > 0 { ProcessHeap.trim() }
  }

  private func apply(_ new: Int) {
    let concurrency = run.concurrency
    let before = concurrency.current
    concurrency.setHalvings(new, by: .memory)
    if concurrency.current != before {
      run.report(ConcurrencyChange(from: before, to: concurrency.current, .memory))
    }
  }
}
