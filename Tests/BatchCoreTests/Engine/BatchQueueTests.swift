import Foundation
import Synchronization
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct BatchQueueTests {
  private let lanes = LanePool(calls: LinuxCalls())

  /// Makes operations 0 to `count` - 1, then no more.
  private func supply(
    _ count: Int, items: Int = 1, isLarge: @escaping @Sendable (Int) -> Bool = { _ in false },
    _ body: @escaping @Sendable (Int) -> Void
  ) -> @Sendable () -> ChunkOperation? {
    let next = Mutex(0)
    let lanes = lanes
    return {
      let number = next.withLock { next in
        defer { next += 1 }
        return next
      }
      guard number < count else { return nil }
      return ChunkOperation(itemCount: items, isLarge: isLarge(number), lanes: lanes) { _ in body(number) }
    }
  }

  @Test func runsEveryOperationOfItsSource() async throws {
    let ran = Recorder<Int>()
    let queue = BatchQueue(
      concurrency: 4, depth: .init(operations: 8), cancellation: Cancellation(),
      next: supply(500) { ran.record($0) })
    try await onThread { queue.run() }
    #expect(ran.values.sorted() == Array(0..<500))
  }

  @Test func endsAtOnceWithAnEmptySource() async throws {
    let queue = BatchQueue(
      concurrency: 4, depth: .init(operations: 8, perCheckpoint: 2), cancellation: Cancellation(),
      next: { nil }, checkpoint: { Issue.record("there is nothing to note") })
    try await onThread { queue.run() }
  }

  @Test(arguments: [1, 3, 16]) func runsAsManyAtOnceAsItMay(concurrency: Int) async throws {
    let crowd = Crowd()
    let everybody = Rendezvous(concurrency)
    let queue = BatchQueue(
      concurrency: concurrency, depth: .init(operations: 64), cancellation: Cancellation(),
      next: supply(concurrency * 4) { _ in
        crowd.enter()
        everybody.arrive()
        crowd.leave()
      })
    try await onThread { queue.run() }
    #expect(crowd.most == concurrency)
  }

  @Test func runsSixtyFourAtOnceOnTwoCores() async throws {
    let everybody = Rendezvous(64)
    let queue = BatchQueue(
      concurrency: 64, depth: .init(operations: 64), cancellation: Cancellation(),
      next: supply(64) { _ in everybody.arrive() })
    try await onThread { queue.run() }
    #expect(lanes.count == 64)
  }

  @Test func usesOneLaneAtAConcurrencyOfOne() async throws {
    let ran = Recorder<Int>()
    let queue = BatchQueue(
      concurrency: 1, depth: .init(operations: 8), cancellation: Cancellation(),
      next: supply(100) { ran.record($0) })
    try await onThread { queue.run() }
    #expect(lanes.count == 1)
    #expect(ran.values == Array(0..<100))
  }

  @Test func admitsABoundedNumberOfOperations() async throws {
    let crowd = Crowd()
    let supply = supply(300) { _ in crowd.leave() }
    let queue = BatchQueue(
      concurrency: 2, depth: .init(operations: 10), cancellation: Cancellation(),
      next: {
        let operation = supply()
        if operation != nil { crowd.enter() }
        return operation
      })
    try await onThread { queue.run() }
    #expect(crowd.most <= 10)
  }

  @Test func admitsABoundedNumberOfItems() async throws {
    let crowd = Crowd()
    let supply = supply(100, items: 50) { _ in crowd.leave() }
    let queue = BatchQueue(
      concurrency: 2, depth: .init(operations: 64, items: 200), cancellation: Cancellation(),
      next: {
        let operation = supply()
        if operation != nil { crowd.enter() }
        return operation
      })
    try await onThread { queue.run() }
    #expect(crowd.most <= 4)
  }

  @Test func admitsTheNextBatchWhenOneIsDone() async throws {
    // Ten of a hundred fit: the rest can only come from completion blocks.
    let ran = Atomic<Int>(0)
    let queue = BatchQueue(
      concurrency: 10, depth: .init(operations: 10), cancellation: Cancellation(),
      next: supply(100) { _ in _ = ran.add(1, ordering: .relaxed) })
    try await onThread { queue.run() }
    #expect(ran.load(ordering: .relaxed) == 100)
  }

  @Test func beginsLargeChunksFirst() async throws {
    let ran = Recorder<Int>()
    let admitting = Mutex<BatchQueue?>(nil)
    let queue = BatchQueue(
      concurrency: 1, depth: .init(operations: 10), cancellation: Cancellation(),
      next: supply(10, isLarge: { $0 == 7 || $0 == 9 }) { number in
        // The first one is handed over before the source is asked for more, and here stays until all are there.
        while number == 0, (admitting.withLock { $0?.operations.operationCount } ?? 10) < 10 { usleep(500) }
        ran.record(number)
      })
    admitting.withLock { $0 = queue }
    try await onThread { queue.run() }
    admitting.withLock { $0 = nil }
    #expect(ran.values.filter { $0 != 0 } == [7, 9, 1, 2, 3, 4, 5, 6, 8])
  }

  @Test func keepsNoOperationThatIsDone() async throws {
    let made = Mutex<[WeakOperation]>([])
    let supply = supply(200) { _ in }
    let queue = BatchQueue(
      concurrency: 4, depth: .init(operations: 8, perCheckpoint: 50), cancellation: Cancellation(),
      next: {
        let operation = supply()
        made.withLock { $0.append(WeakOperation(operation: operation)) }
        return operation
      })
    try await onThread { queue.run() }
    // The queue's own threads let go of the last ones in their own time; eight are the window.
    #expect(made.withLock { $0.filter { $0.operation != nil }.count } <= 8)
  }

  private struct WeakOperation {
    weak var operation: ChunkOperation?
  }

  // MARK: Checkpoints

  @Test(arguments: [(10, 5), (12, 5), (3, 5), (5, 5), (1, 1), (64, 16)])
  func runsACheckpointAfterEachBatch(count: Int, limit: Int) async throws {
    let started = Atomic<Int>(0)
    let ended = Atomic<Int>(0)
    let seen = Recorder<[Int]>()
    let queue = BatchQueue(
      concurrency: 4, depth: .init(operations: 64, perCheckpoint: limit), cancellation: Cancellation(),
      next: supply(count) { _ in
        started.add(1, ordering: .sequentiallyConsistent)
        ended.add(1, ordering: .sequentiallyConsistent)
      },
      checkpoint: {
        seen.record([
          started.load(ordering: .sequentiallyConsistent), ended.load(ordering: .sequentiallyConsistent),
        ])
      })
    try await onThread { queue.run() }
    // Everything before a checkpoint is done, and nothing after it has begun.
    let due = stride(from: limit, through: count, by: limit) + (count % limit == 0 ? [] : [count])
    #expect(seen.values == due.map { [$0, $0] })
  }

  // MARK: While it runs

  @Test func takesAHigherConcurrencyWhileItRuns() async throws {
    let everybody = Rendezvous(6)
    let first = Gate()
    let crowd = Crowd()
    let queue = BatchQueue(
      concurrency: 1, depth: .init(operations: 12), cancellation: Cancellation(),
      next: supply(12) { number in
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
      queue.concurrency = 6
      #expect(queue.concurrency == 6)
      ended.pass()
    }
    #expect(crowd.most == 6)
  }

  @Test func takesALowerConcurrencyWhileItRuns() async throws {
    let line = Rendezvous(5)
    let lowered = Gate()
    let crowd = Crowd()
    let queue = BatchQueue(
      concurrency: 4, depth: .init(operations: 40), cancellation: Cancellation(),
      next: supply(40) { number in
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
      queue.concurrency = 1
      lowered.open()
      ended.pass()
    }
    // While the first four end, one after the other, no second one may begin beside them.
    #expect(crowd.most == 1)
  }

  @Test func keepsAConcurrencyOfOneOrMore() {
    let queue = BatchQueue(
      concurrency: 0, depth: .init(operations: 1), cancellation: Cancellation(), next: { nil })
    #expect(queue.concurrency == 1)
    queue.concurrency = -4
    #expect(queue.concurrency == 1)
  }

  @Test func beginsNothingWhileSuspended() async throws {
    let isResumed = Atomic<Bool>(false)
    let wasResumed = Recorder<Bool>()
    let exhausted = Gate()
    let supply = supply(20) { _ in wasResumed.record(isResumed.load(ordering: .sequentiallyConsistent)) }
    let queue = BatchQueue(
      concurrency: 4, depth: .init(operations: 64), cancellation: Cancellation(),
      next: {
        let operation = supply()
        if operation == nil { exhausted.open() }
        return operation
      })
    queue.isSuspended = true
    try await onThread {
      let ended = Gate()
      Thread {
        queue.run()
        ended.open()
      }.start()
      exhausted.pass()
      #expect(queue.isSuspended)
      isResumed.store(true, ordering: .sequentiallyConsistent)
      queue.isSuspended = false
      ended.pass()
    }
    #expect(wasResumed.values == Array(repeating: true, count: 20))
  }

  // MARK: Back-pressure

  @Test(arguments: 0..<20) func goesOnWhenRoomAppearsAfterEverythingElseEnded(round: Int) async throws {
    let ran = Recorder<Int>()
    let hasRoom = Atomic<Bool>(true)
    let asked = Gate()
    let queue = BatchQueue(
      concurrency: 1, depth: .init(operations: 1), cancellation: Cancellation(),
      next: supply(4) { number in
        ran.record(number)
        // What takes the results is full from now on.
        if number == 1 { hasRoom.store(false, ordering: .sequentiallyConsistent) }
      },
      hasRoom: {
        let answer = hasRoom.load(ordering: .sequentiallyConsistent)
        if !answer { asked.open() }
        return answer
      })
    try await onThread {
      let ended = Gate()
      Thread {
        queue.run()
        ended.open()
      }.start()
      asked.pass()
      for _ in 0..<round { sched_yield() }
      hasRoom.store(true, ordering: .sequentiallyConsistent)
      queue.roomAppeared()
      ended.pass()
    }
    #expect(ran.values == [0, 1, 2, 3])
  }

  // MARK: Cancellation

  @Test func admitsNothingAfterACancellation() async throws {
    let cancellation = Cancellation()
    let cancelled = Gate()
    let ran = Atomic<Int>(0)
    let queue = BatchQueue(
      concurrency: 2, depth: .init(operations: 4), cancellation: cancellation,
      next: supply(1000) { number in
        ran.add(1, ordering: .relaxed)
        if number == 10 {
          cancellation.cancel(BatchError(.cancelled, "stop"))
          cancelled.open()
        } else if number > 10 {
          cancelled.pass()
        }
      })
    try await onThread { queue.run() }
    // Those up to the one that cancels, and the one beside it.
    #expect(ran.load(ordering: .relaxed) <= 12)
  }

  @Test func endsWhenCancelledWhileSuspended() async throws {
    let cancellation = Cancellation()
    let ran = Atomic<Int>(0)
    let exhausted = Gate()
    let supply = supply(20) { _ in _ = ran.add(1, ordering: .relaxed) }
    let queue = BatchQueue(
      concurrency: 4, depth: .init(operations: 64), cancellation: cancellation,
      next: {
        let operation = supply()
        if operation == nil { exhausted.open() }
        return operation
      })
    queue.isSuspended = true
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
    #expect(!queue.isSuspended)
  }

  @Test func cannotBeSuspendedAfterACancellation() async throws {
    for _ in 0..<100 {
      let cancellation = Cancellation()
      let queue = BatchQueue(
        concurrency: 2, depth: .init(operations: 8), cancellation: cancellation, next: supply(8) { _ in })
      let line = Rendezvous(3)
      try await onThreads(3) { number in
        line.arrive()
        switch number {
        case 0: queue.run()
        case 1: cancellation.cancel(BatchError(.cancelled, "stop"))
        default: for _ in 0..<50 { queue.isSuspended = true }
        }
      }
      #expect(!queue.isSuspended)
    }
  }

  @Test func endsWhenCancelledAtACheckpoint() async throws {
    let cancellation = Cancellation()
    let checkpoints = Atomic<Int>(0)
    let ran = Atomic<Int>(0)
    let queue = BatchQueue(
      concurrency: 2, depth: .init(operations: 8, perCheckpoint: 4), cancellation: cancellation,
      next: supply(20) { _ in _ = ran.add(1, ordering: .relaxed) },
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
      let queue = BatchQueue(
        concurrency: 2, depth: .init(operations: 8, perCheckpoint: 4), cancellation: cancellation,
        next: supply(20) { number in
          // The last operation before the first or second barrier; the others may be anywhere.
          if number == 3 + 4 * (round % 2) { cancellation.cancel(BatchError(.cancelled, "stop")) }
        })
      try await onThread { queue.run() }
    }
    #expect(lanes.count <= 2)
  }

  @Test func endsWhenCancelledFromOutsideAtAnyTime() async throws {
    for round in 0..<50 {
      let cancellation = Cancellation()
      let begun = Gate()
      let queue = BatchQueue(
        concurrency: 3, depth: .init(operations: 6, perCheckpoint: 3), cancellation: cancellation,
        next: supply(300) { number in if number == round { begun.open() } })
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
