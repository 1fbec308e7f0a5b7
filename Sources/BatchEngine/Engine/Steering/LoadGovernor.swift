import Dispatch
import Synchronization

/// Holds a run back while the load of the machine is above a limit: first half of the operations run, then none; and back in
/// the same steps.
package final class LoadGovernor: Sendable {
  /// How far a run is held back.
  package enum Pressure: Int, Sendable {
    case none, halved, suspended
  }

  private let limit: Double
  private let load: @Sendable () -> Double?
  private let canHalve: @Sendable () -> Bool
  private let apply: @Sendable (Pressure) -> Void
  private let pressure = Mutex(Pressure.none)
  /// Steps are decided and applied on this queue, so that they are applied in order.
  private let queue = DispatchQueue(label: "batchproc.load")
  // Dispatch objects may be used from any thread; their protocols do not say so.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  /// - Parameters:
  ///   - limit: the load above which nothing begins; more than 0.
  ///   - load: the load of this moment, nil when it cannot be known.
  ///   - canHalve: whether more than one operation runs; one is suspended at once.
  ///   - apply: called with each step, one call at a time and in their order, on one serial queue.
  package init(
    limit: Double, load: @escaping @Sendable () -> Double?,
    canHalve: @escaping @Sendable () -> Bool = { true }, apply: @escaping @Sendable (Pressure) -> Void
  ) {
    self.limit = limit
    self.load = load
    self.canHalve = canHalve
    self.apply = apply
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { [weak self] in self?.step() }
    // Active from the beginning, with nothing due yet: libdispatch traps when an inactive source is released.
    timer.schedule(deadline: .distantFuture)
    timer.activate()
  }

  deinit {
    timer.cancel()
  }

  /// Looks at once and then every few seconds, which is how often the kernel renews its averages.
  package func start() {
    sample()
    timer.schedule(deadline: .now() + 5, repeating: 5, leeway: .seconds(1))
  }

  /// Holds a run back as the steps say, and reports each to its observer.
  ///
  /// - Parameter load: in the place of that of the machine.
  package static func holdBack(
    _ run: RunContext, limit: LoadLimit, load: (@Sendable () -> Double?)? = nil
  ) -> LoadGovernor {
    let concurrency = run.concurrency
    return LoadGovernor(
      limit: limit.value, load: load ?? { limit.load() }, canHalve: { concurrency.wanted > 1 },
      apply: { pressure in
        let old = concurrency.isSuspended ? 0 : concurrency.current
        // Suspended, it stays halved: that is the next step back.
        concurrency.setHalved(pressure != .none)
        concurrency.setSuspended(pressure == .suspended, by: .load)
        let new = concurrency.isSuspended ? 0 : concurrency.current
        if new != old { run.report(ConcurrencyChange(from: old, to: new, .load)) }
      })
  }

  /// Looks once, and goes one step. Must not be called by `apply`.
  package func sample() {
    queue.sync { step() }
  }

  private func step() {
    guard let load = load() else { return }
    let step = pressure.withLock { current -> Pressure? in
      let old = current
      if load > limit {
        current = old == .none && canHalve() ? .halved : .suspended
      } else {
        current = old == .suspended && canHalve() ? .halved : .none
      }
      return current == old ? nil : current
    }
    if let step { apply(step) }
  }
}
