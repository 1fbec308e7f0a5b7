import Dispatch
import Synchronization

/// Holds a run back while the load of the machine is above a limit: first half of the operations run, then none. It resumes in
/// the same two steps.
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
  private let timer: RepeatingTimer

  /// - Parameters:
  ///   - limit: the load above which no operation begins; more than 0.
  ///   - load: the current load, nil if unknown.
  ///   - canHalve: whether more than one operation runs; a single operation is suspended without being halved first.
  ///   - apply: called with each step, one call at a time and in their order, on one serial queue.
  package init(
    limit: Double, load: @escaping @Sendable () -> Double?,
    canHalve: @escaping @Sendable () -> Bool = { true }, apply: @escaping @Sendable (Pressure) -> Void
  ) {
    self.limit = limit
    self.load = load
    self.canHalve = canHalve
    self.apply = apply
    timer = RepeatingTimer(on: queue)
    timer.handle { [weak self] in self?.step() }
  }

  /// Checks once now, and afterwards every few seconds, as often as the kernel updates its averages.
  package func start() {
    sample()
    timer.schedule(every: .seconds(5), leeway: .seconds(1))
  }

  /// Applies the steps to a run, and reports each to its observer.
  ///
  /// - Parameter load: replaces the load of the machine, for tests.
  package static func holdBack(
    _ run: RunContext, limit: LoadLimit, load: (@Sendable () -> Double?)? = nil
  ) -> LoadGovernor {
    let concurrency = run.concurrency
    return LoadGovernor(
      limit: limit.value, load: load ?? { limit.load() }, canHalve: { concurrency.wanted > 1 },
      apply: { pressure in
        let old = concurrency.isSuspended ? 0 : concurrency.current
        // A suspended run stays halved: halved is the next step when it resumes.
        concurrency.setHalvings(pressure == .none ? 0 : 1, by: .load)
        concurrency.setSuspended(pressure == .suspended, by: .load)
        let new = concurrency.isSuspended ? 0 : concurrency.current
        if new != old { run.report(ConcurrencyChange(from: old, to: new, .load)) }
      })
  }

  /// Checks once, and takes one step if needed. Must not be called by `apply`.
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
