import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct LoadGovernorTests {
  /// The changes that the governor makes for these loads, one after the other.
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

  /// The numbers of operations for these loads, one after the other, of a run that begins with `count`.
  private func numbers(_ loads: [Double], concurrency count: Int) -> [Int] {
    var options = BatchOptions()
    options.concurrency = count
    let changes = Recorder<ConcurrencyChange>()
    let run = RunContext(options: options, observer: ChangeRecorder(changes: changes))
    let rest = Mutex(loads)
    let governor = LoadGovernor.holdBack(
      run, limit: .average(2), load: { rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } })
    var numbers = [Int]()
    for _ in loads {
      governor.sample()
      numbers.append(run.concurrency.isSuspended ? 0 : run.concurrency.current)
    }
    // The observer gets the same steps.
    let steps = ([count] + numbers).reduce(into: [Int]()) { if $0.last != $1 { $0.append($1) } }
    #expect(changes.values.map(\.new) == Array(steps.dropFirst()))
    #expect(changes.values.allSatisfy { $0.reason == .load })
    return numbers
  }

  private struct ChangeRecorder: RunObserver {
    let changes: Recorder<ConcurrencyChange>

    func met(_ problem: Problem, severity: Severity) {}
    func changed(_ change: ConcurrencyChange) { changes.record(change) }
  }

  @Test(
    "A run is slowed down and sped up again in the same steps",
    arguments: [
      (8, [4, 0, 0, 4, 8, 8]), (5, [2, 0, 0, 2, 5, 5]), (2, [1, 0, 0, 1, 2, 2]), (1, [0, 0, 0, 1, 1, 1]),
    ])
  func steps(concurrency: Int, expected: [Int]) {
    #expect(numbers([3, 3, 3, 1, 1, 1], concurrency: concurrency) == expected)
  }

  @Test func aHalvedRunGoesBackToItsNumberAfterAnyNumberOfSlowdowns() {
    #expect(
      numbers([3, 3, 1, 3, 1, 3, 3, 1, 1, 3, 1], concurrency: 8) == [4, 0, 4, 0, 4, 0, 0, 4, 8, 4, 8])
  }

  @Test func aNumberThatIsSetDuringASlowdownIsUsedAfterIt() {
    let run = RunContext(options: BatchOptions())
    run.concurrency.set(8)
    let load = Mutex(3.0)
    let governor = LoadGovernor.holdBack(run, limit: .pressure(2), load: { load.withLock { $0 } })
    governor.sample()
    run.concurrency.fix(6)
    #expect(run.concurrency.current == 3)
    load.withLock { $0 = 1 }
    governor.sample()
    #expect(run.concurrency.current == 6)
  }

  @Test(.timeLimit(.minutes(3))) func stepsOfSeveralThreadsAreAppliedInTheirOrder() async throws {
    let applied = Recorder<LoadGovernor.Pressure>()
    let loads = Mutex(0)
    // The load alternates between high and low: each sample goes one step from the step before.
    let governor = LoadGovernor(
      limit: 2,
      load: {
        loads.withLock { count in
          count += 1
          return count % 2 == 1 ? 3 : 1
        }
      },
      apply: { pressure in
        sched_yield()
        applied.record(pressure)
      })
    try await onThreads(4) { _ in for _ in 0..<500 { governor.sample() } }
    #expect(applied.values == (0..<2000).map { $0 % 2 == 0 ? .halved : .none })
  }

  @Test func theLimitItselfIsAllowed() {
    #expect(calls([2, 2], limit: 2) == [])
  }

  @Test func anUnknownLoadChangesNothing() {
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
      // A path is counted as seen when its operation is made, which also happens during a suspension.
      while runner.context.counters.snapshot.seen == 0 { sched_yield() }
      isResumed.withLock { $0 = true }
      runner.context.concurrency.setSuspended(false)
    }
    #expect(try await summary.counts.done == 1)
  }
}
