import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

/// Lanes that wait between the steps of their operations while fewer lanes, or none, may run.
@Suite(.timeLimit(.minutes(3))) struct HeldLanesTests {
  /// Operations that take steps until `end()` is called, and the lanes that they run on.
  private final class Walkers: Sendable {
    let concurrency: ConcurrencyLimit
    let lanes: LanePool
    private let group = DispatchGroup()
    private let isEnded = Atomic<Bool>(false)
    private let registration = Mutex(0)

    init(_ count: Int) {
      concurrency = ConcurrencyLimit(count)
      lanes = LanePool(concurrency)
      let registration = concurrency.onChange { [weak lanes] in lanes?.startWaiting() }
      self.registration.withLock { $0 = registration }
      let everybody = Rendezvous(count)
      for _ in 0..<count {
        group.enter()
        lanes.run(
          { [self] lane in
            everybody.arrive()
            while !isEnded.load(ordering: .relaxed) {
              lanes.pass(lane)
              sched_yield()
            }
          }, completion: { [group] in group.leave() })
      }
    }

    /// Waits until `count` lanes run.
    func awaitRunning(_ count: Int) {
      while concurrency.runningCount != count { sched_yield() }
    }

    func end() {
      isEnded.store(true, ordering: .relaxed)
      concurrency.setSuspended(false)
      group.wait()
    }
  }

  @Test func aLowerNumberHoldsInTheMiddleOfOperations() async throws {
    try await onThread {
      let walkers = Walkers(6)
      walkers.awaitRunning(6)
      for count in [2, 5, 1, 6, 3] {
        walkers.concurrency.set(count)
        walkers.awaitRunning(count)
      }
      walkers.end()
    }
  }

  @Test func aSuspensionStopsAllLanesUntilItsLastReasonEnds() async throws {
    try await onThread {
      let walkers = Walkers(4)
      walkers.awaitRunning(4)
      walkers.concurrency.setSuspended(true)
      walkers.awaitRunning(0)
      walkers.concurrency.setSuspended(true, by: .load)
      walkers.concurrency.setSuspended(false)
      #expect(walkers.concurrency.isSuspended)
      #expect(walkers.concurrency.runningCount == 0)
      walkers.concurrency.setSuspended(false, by: .load)
      walkers.awaitRunning(4)
      walkers.end()
    }
  }

  @Test func operationsThatAreHeldEndWhenTheRunIsCancelled() async throws {
    try await onThread {
      let concurrency = ConcurrencyLimit(2)
      let cancellation = Cancellation()
      let lanes = LanePool(concurrency: concurrency, cancellation: cancellation) { Lane() }
      _ = concurrency.onChange { [weak lanes] in lanes?.startWaiting() }
      cancellation.onCancel { [weak lanes] in lanes?.startWaiting() }
      let group = DispatchGroup()
      for _ in 0..<2 {
        group.enter()
        lanes.run(
          { lane in while !cancellation.isCancelled { lanes.pass(lane) } }, completion: { group.leave() })
      }
      concurrency.setSuspended(true)
      while concurrency.runningCount > 0 { sched_yield() }
      cancellation.cancel(BatchError(.cancelled, "enough"))
      group.wait()
    }
  }

  @Test func aLaneThatOthersWaitForIsNotHeld() async throws {
    try await onThread {
      let concurrency = ConcurrencyLimit(2)
      let lanes = LanePool(concurrency)
      _ = concurrency.onChange { [weak lanes] in lanes?.startWaiting() }
      let budget = TokenBudget(capacity: 1)
      let (taken, lowered) = (Gate(), Gate())
      let group = DispatchGroup()
      group.enter()
      lanes.run(
        { lane in
          budget.withTokens(1) {
            taken.open()
            lowered.pass()
            // The other lane runs by now, or waits for the token that this one holds.
            while concurrency.runningCount > 1 { sched_yield() }
            lanes.pass(lane)
          }
        }, completion: { group.leave() })
      group.enter()
      lanes.run(
        { _ in
          taken.pass()
          lowered.pass()
          budget.withTokens(1) {}
        }, completion: { group.leave() })
      taken.pass()
      concurrency.set(1)
      lowered.open()
      group.wait()
    }
  }

  @Test func aNumberIsHalvedForATime() {
    let concurrency = ConcurrencyLimit(8)
    concurrency.setHalvings(1, by: .load)
    #expect(concurrency.current == 4)
    concurrency.setHalvings(1, by: .load)
    #expect(concurrency.current == 4)
    concurrency.set(1)
    #expect(concurrency.current == 1)
    concurrency.set(6)
    #expect(concurrency.current == 3)
    #expect(concurrency.wanted == 6)
    concurrency.setHalvings(0, by: .load)
    #expect(concurrency.current == 6)
    concurrency.fix(4)
    #expect(concurrency.isFixed)
    concurrency.fix(nil)
    #expect(!concurrency.isFixed)
    #expect(concurrency.current == 4)
  }
}
