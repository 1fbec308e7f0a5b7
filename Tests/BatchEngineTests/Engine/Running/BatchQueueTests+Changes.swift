import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

/// Changes of the concurrency, and cancellation.
extension BatchQueueTests {
  // MARK: While it runs

  @Test func takesAHigherConcurrencyWhileItRuns() async throws {
    let fixture = Fixture(1)
    let everybody = Rendezvous(6)
    let first = Gate()
    let crowd = Crowd()
    let queue = fixture.queue(
      .init(operations: 12),
      next: fixture.supply(12) { number in
        crowd.enter()
        if number == 0 { first.open() }
        everybody.arrive()
        crowd.leave()
      })
    try await onThread {
      let ended = Gate()
      Thread {
        queue.run()
        ended.open()
      }.start()
      first.pass()
      fixture.concurrency.set(6)
      ended.pass()
    }
    #expect(crowd.most == 6)
  }

  @Test func takesALowerConcurrencyWhileItRuns() async throws {
    let fixture = Fixture(4)
    let line = Rendezvous(5)
    let lowered = Gate()
    let crowd = Crowd()
    let queue = fixture.queue(
      .init(operations: 40),
      next: fixture.supply(40) { number in
        guard number >= 4 else {
          line.arrive()
          lowered.pass()
          return
        }
        crowd.enter()
        crowd.leave()
      })
    try await onThread {
      let ended = Gate()
      Thread {
        queue.run()
        ended.open()
      }.start()
      line.arrive()
      fixture.concurrency.set(1)
      lowered.open()
      ended.pass()
    }
    // While the first four end one after the other, only one of the later operations runs at a time.
    #expect(crowd.most == 1)
  }

  @Test func keepsAConcurrencyOfOneOrMore() {
    let concurrency = ConcurrencyLimit(0)
    #expect(concurrency.current == 1)
    concurrency.set(-4)
    #expect(concurrency.current == 1)
  }

  @Test func beginsNothingWhileSuspended() async throws {
    let fixture = Fixture(4)
    let isResumed = Atomic<Bool>(false)
    let wasResumed = Recorder<Bool>()
    let exhausted = Gate()
    let supply = fixture.supply(20) { _ in
      wasResumed.record(isResumed.load(ordering: .sequentiallyConsistent))
    }
    let queue = fixture.queue(
      .init(operations: 64),
      next: { queue in
        let operation = supply(queue)
        if operation == nil { exhausted.open() }
        return operation
      })
    fixture.concurrency.setSuspended(true)
    try await onThread {
      let ended = Gate()
      Thread {
        queue.run()
        ended.open()
      }.start()
      exhausted.pass()
      #expect(queue.operations.isSuspended)
      isResumed.store(true, ordering: .sequentiallyConsistent)
      fixture.concurrency.setSuspended(false)
      ended.pass()
    }
    #expect(wasResumed.values == Array(repeating: true, count: 20))
  }

  // MARK: Cancellation

  @Test func admitsNothingAfterACancellation() async throws {
    let cancellation = Cancellation()
    let fixture = Fixture(2, cancellation)
    let cancelled = Gate()
    let ran = Atomic<Int>(0)
    let queue = fixture.queue(
      .init(operations: 4),
      next: fixture.supply(1000) { number in
        ran.add(1, ordering: .relaxed)
        if number == 10 {
          cancellation.cancel(BatchError(.cancelled, "stop"))
          cancelled.open()
        } else if number > 10 {
          cancelled.pass()
        }
      })
    try await onThread { queue.run() }
    // The operations up to the cancelling one, and the one that runs at the same time.
    #expect(ran.load(ordering: .relaxed) <= 12)
  }

  @Test func endsWhenCancelledWhileSuspended() async throws {
    let cancellation = Cancellation()
    let fixture = Fixture(4, cancellation)
    let ran = Atomic<Int>(0)
    let exhausted = Gate()
    let supply = fixture.supply(20) { _ in _ = ran.add(1, ordering: .relaxed) }
    let queue = fixture.queue(
      .init(operations: 64),
      next: { queue in
        let operation = supply(queue)
        if operation == nil { exhausted.open() }
        return operation
      })
    fixture.concurrency.setSuspended(true)
    try await onThread {
      let ended = Gate()
      Thread {
        queue.run()
        ended.open()
      }.start()
      exhausted.pass()
      cancellation.cancel(BatchError(.cancelled, "stop"))
      ended.pass()
    }
    #expect(!queue.operations.isSuspended)
  }

  @Test func cannotBeSuspendedAfterACancellation() async throws {
    for _ in 0..<100 {
      let cancellation = Cancellation()
      let fixture = Fixture(2, cancellation)
      let queue = fixture.queue(
        .init(operations: 8),
        next: fixture.supply(8) { _ in })
      let line = Rendezvous(3)
      try await onThreads(3) { number in
        line.arrive()
        switch number {
        case 0: queue.run()
        case 1: cancellation.cancel(BatchError(.cancelled, "stop"))
        default: for _ in 0..<50 { fixture.concurrency.setSuspended(true) }
        }
      }
      #expect(!queue.operations.isSuspended)
    }
  }

  @Test func endsWhenCancelledAtACheckpoint() async throws {
    let cancellation = Cancellation()
    let fixture = Fixture(2, cancellation)
    let checkpoints = Atomic<Int>(0)
    let ran = Atomic<Int>(0)
    let queue = fixture.queue(
      .init(operations: 8, perCheckpoint: 4),
      next: fixture.supply(20) { _ in _ = ran.add(1, ordering: .relaxed) },
      checkpoint: {
        checkpoints.add(1, ordering: .relaxed)
        cancellation.cancel(BatchError(.unwritable, "full"))
      })
    try await onThread { queue.run() }
    #expect(checkpoints.load(ordering: .relaxed) == 1)
    #expect(ran.load(ordering: .relaxed) == 4)
  }

  @Test func endsWhenCancelledWhileABarrierWaits() async throws {
    for round in 0..<50 {
      let cancellation = Cancellation()
      let fixture = Fixture(2, cancellation)
      let queue = fixture.queue(
        .init(operations: 8, perCheckpoint: 4),
        next: fixture.supply(20) { number in
          // The last operation before the first or second barrier; others may be in any state.
          if number == 3 + 4 * (round % 2) { cancellation.cancel(BatchError(.cancelled, "stop")) }
        })
      try await onThread { queue.run() }
      #expect(fixture.lanes.count <= 2)
    }
  }

  @Test func endsWhenCancelledFromOutsideAtAnyTime() async throws {
    for round in 0..<50 {
      let cancellation = Cancellation()
      let fixture = Fixture(3, cancellation)
      let begun = Gate()
      let queue = fixture.queue(
        .init(operations: 6, perCheckpoint: 3),
        next: fixture.supply(300) { number in if number == round { begun.open() } })
      try await onThreads(2) { number in
        if number == 0 {
          queue.run()
        } else {
          begun.pass()
          cancellation.cancel(BatchError(.cancelled, "stop"))
        }
      }
      #expect(cancellation.isCancelled)
    }
  }
}
