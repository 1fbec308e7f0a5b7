import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct CancellationTests {
  @Test func keepsTheFirstReason() throws {
    let cancellation = Cancellation()
    #expect(!cancellation.isCancelled)
    #expect(cancellation.reason == nil)
    try cancellation.check()
    cancellation.cancel(BatchError(.unwritable, "first"))
    cancellation.cancel(BatchError(.closedOutput, "second"))
    #expect(cancellation.isCancelled)
    #expect(cancellation.reason?.message == "first")
    #expect(throws: BatchError(.unwritable, "first")) { try cancellation.check() }
  }

  @Test func callsEachHandlerOnce() {
    let cancellation = Cancellation()
    let called = Recorder<Int>()
    cancellation.onCancel { called.record(1) }
    cancellation.onCancel { called.record(2) }
    #expect(called.values.isEmpty)
    cancellation.cancel(BatchError(.cancelled, "stop"))
    cancellation.cancel(BatchError(.cancelled, "stop"))
    #expect(called.values == [1, 2])
  }

  @Test func callsALateHandlerAtOnce() {
    let cancellation = Cancellation()
    cancellation.cancel(BatchError(.cancelled, "stop"))
    let called = Recorder<Bool>()
    cancellation.onCancel { called.record(cancellation.isCancelled) }
    #expect(called.values == [true])
  }

  @Test func callsHandlersWithoutItsLock() {
    let cancellation = Cancellation()
    let called = Recorder<String>()
    cancellation.onCancel {
      cancellation.cancel(BatchError(.cancelled, "again"))
      cancellation.onCancel { called.record("inner") }
      called.record(cancellation.reason?.message ?? "")
    }
    cancellation.cancel(BatchError(.cancelled, "stop"))
    #expect(called.values == ["inner", "stop"])
  }

  @Test func isCancelledWhenAHandlerIsCalled() async throws {
    for round in 0..<200 {
      let cancellation = Cancellation()
      let seen = Recorder<Bool>()
      let line = Rendezvous(3)
      try await onThreads(3) { number in
        line.arrive()
        if number == 0 {
          cancellation.cancel(BatchError(.cancelled, "\(round)"))
        } else {
          cancellation.onCancel { seen.record(cancellation.isCancelled) }
        }
      }
      #expect(seen.values == [true, true])
    }
  }
}
