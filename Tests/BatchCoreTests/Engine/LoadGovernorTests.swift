import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct LoadGovernorTests {
  /// What the governor does as the load takes these values in turn.
  private func calls(
    _ loads: [Double?], limit: Double, canHalve: Bool = true
  ) -> [LoadGovernor.Pressure] {
    let rest = Mutex(loads)
    let calls = Mutex([LoadGovernor.Pressure]())
    let governor = LoadGovernor(
      limit: limit, load: { rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } }, canHalve: { canHalve },
      apply: { pressure in calls.withLock { $0.append(pressure) } })
    for _ in loads { governor.sample() }
    return calls.withLock { $0 }
  }

  @Test func halvesThenSuspendsAboveTheLimitAndRecoversBelow() {
    #expect(
      calls([0.5, 3, 4, 5, 1.9, 1, 1, 2.5, 1], limit: 2) == [
        .halved, .suspended, .halved, .none, .halved, .none,
      ])
  }

  @Test func suspendsAtOnceWhatCannotBeHalved() {
    #expect(calls([0.5, 3, 4, 1.9, 1, 2.5], limit: 2, canHalve: false) == [.suspended, .none, .suspended])
  }

  @Test func holdsARunBackByItsConcurrency() {
    var options = BatchOptions()
    options.concurrency = 8
    let run = RunContext(options: options)
    // Every machine has some load.
    let governor = LoadGovernor.holdBack(run, limit: -1)
    governor.sample()
    #expect(run.concurrency.current == 4)
    #expect(!run.concurrency.isSuspended)
    governor.sample()
    #expect(run.concurrency.isSuspended)
  }

  @Test func theLimitItselfIsAllowed() {
    #expect(calls([2, 2], limit: 2) == [])
  }

  @Test func aLoadThatCannotBeKnownChangesNothing() {
    #expect(calls([3, nil, nil, 1], limit: 2) == [.halved, .none])
  }

  @Test(.timeLimit(.minutes(3))) func aRunThatIsSuspendedBeforeItBeginsWaits() async throws {
    let isResumed = Mutex(false)
    let runner = BatchRunner(options: BatchOptions())
    runner.context.concurrency.setSuspended(true)
    let job = ListJob { _, _ in
      #expect(isResumed.withLock { $0 })
    } output: { _ in
    }
    async let summary = onThread { runner.run(job, over: runner.tree(["/proc/self/status"])) }
    try await onThread {
      // The path is counted as seen when its operation is made, which a suspension does not hold back.
      while runner.context.counters.snapshot.seen == 0 { sched_yield() }
      isResumed.withLock { $0 = true }
      runner.context.concurrency.setSuspended(false)
    }
    #expect(try await summary.counts.done == 1)
  }
}
