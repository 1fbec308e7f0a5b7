import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct BatchQueueTests {
  /// A queue with its lanes.
  struct Fixture {
    let concurrency: ConcurrencyLimit
    let cancellation: Cancellation
    let lanes: LanePool

    init(_ count: Int, _ cancellation: Cancellation = Cancellation()) {
      let concurrency = ConcurrencyLimit(count)
      self.concurrency = concurrency
      self.cancellation = cancellation
      lanes = LanePool(concurrency: concurrency, cancellation: cancellation) { Lane() }
      let lanes = lanes
      _ = concurrency.onChange { lanes.startWaiting() }
      cancellation.onCancel { lanes.startWaiting() }
    }

    func queue(
      _ depth: BatchQueue.Depth, next: @escaping @Sendable (BatchQueue) -> ChunkOperation?,
      hasRoom: @escaping @Sendable () -> Bool = { true }, checkpoint: @escaping @Sendable () -> Void = {}
    ) -> BatchQueue {
      BatchQueue(
        concurrency: concurrency, depth: depth, cancellation: cancellation, next: next, hasRoom: hasRoom,
        checkpoint: checkpoint)
    }

    /// A closure that makes operations 0 to `count` - 1, then none.
    func supply(
      _ count: Int, items: Int = 1, isLarge: @escaping @Sendable (Int) -> Bool = { _ in false },
      _ body: @escaping @Sendable (Int) -> Void
    ) -> @Sendable (BatchQueue) -> ChunkOperation? {
      let next = Mutex(0)
      let lanes = lanes
      return { queue in
        let number = next.withLock { next in
          defer { next += 1 }
          return next
        }
        guard number < count else { return nil }
        return ChunkOperation(
          itemCount: items, isLarge: isLarge(number), lanes: lanes,
          ending: { queue.ending(itemCount: $0) }, finished: { queue.finished() }
        ) { _ in body(number) }
      }
    }
  }

  @Test func runsEveryOperationOfItsSource() async throws {
    let fixture = Fixture(4)
    let ran = Recorder<Int>()
    let queue = fixture.queue(
      .init(operations: 8),
      next: fixture.supply(500) { ran.record($0) })
    try await onThread { queue.run() }
    #expect(ran.values.sorted() == Array(0..<500))
  }

  @Test func endsImmediatelyWithAnEmptySource() async throws {
    let fixture = Fixture(4)
    let queue = fixture.queue(
      .init(operations: 8, perCheckpoint: 2),
      next: { _ in nil }, checkpoint: { Issue.record("a checkpoint without an operation") })
    try await onThread { queue.run() }
  }

  @Test(arguments: [1, 3, 16]) func runsAsManyAtOnceAsItMay(concurrency: Int) async throws {
    let fixture = Fixture(concurrency)
    let crowd = Crowd()
    let everybody = Rendezvous(concurrency)
    let queue = fixture.queue(
      .init(operations: 64),
      next: fixture.supply(concurrency * 4) { _ in
        crowd.enter()
        everybody.arrive()
        crowd.leave()
      })
    try await onThread { queue.run() }
    #expect(crowd.most == concurrency)
  }

  @Test func runsSixtyFourAtOnceOnTwoCores() async throws {
    let fixture = Fixture(64)
    let everybody = Rendezvous(64)
    let queue = fixture.queue(
      .init(operations: 64),
      next: fixture.supply(64) { _ in everybody.arrive() })
    try await onThread { queue.run() }
    #expect(fixture.lanes.count == 64)
  }

  @Test func usesOneLaneAtAConcurrencyOfOne() async throws {
    let fixture = Fixture(1)
    let ran = Recorder<Int>()
    let queue = fixture.queue(
      .init(operations: 8),
      next: fixture.supply(100) { ran.record($0) })
    try await onThread { queue.run() }
    #expect(fixture.lanes.count == 1)
    #expect(ran.values == Array(0..<100))
  }

  @Test func admitsABoundedNumberOfOperations() async throws {
    let fixture = Fixture(2)
    let crowd = Crowd()
    let supply = fixture.supply(300) { _ in crowd.leave() }
    let queue = fixture.queue(
      .init(operations: 10),
      next: { queue in
        let operation = supply(queue)
        if operation != nil { crowd.enter() }
        return operation
      })
    try await onThread { queue.run() }
    #expect(crowd.most <= 10)
  }

  @Test func admitsABoundedNumberOfItems() async throws {
    let fixture = Fixture(2)
    let crowd = Crowd()
    let supply = fixture.supply(100, items: 50) { _ in crowd.leave() }
    let queue = fixture.queue(
      .init(operations: 64, items: 200),
      next: { queue in
        let operation = supply(queue)
        if operation != nil { crowd.enter() }
        return operation
      })
    try await onThread { queue.run() }
    #expect(crowd.most <= 4)
  }

  @Test func admitsTheNextBatchWhenOneIsDone() async throws {
    let fixture = Fixture(10)
    // Ten of a hundred operations fit, and only completion blocks admit the others.
    let ran = Atomic<Int>(0)
    let queue = fixture.queue(
      .init(operations: 10),
      next: fixture.supply(100) { _ in _ = ran.add(1, ordering: .relaxed) })
    try await onThread { queue.run() }
    #expect(ran.load(ordering: .relaxed) == 100)
  }

  @Test("An operation that takes long does not delay the batches after it", arguments: [2, 7])
  func slowOperation(concurrency: Int) async throws {
    let fixture = Fixture(concurrency)
    let ran = Atomic<Int>(0)
    let last = Gate()
    let queue = fixture.queue(
      .init(operations: 10),
      next: fixture.supply(200) { number in
        // Operation 0 ends only after all others have ended.
        if number == 0 { last.pass() } else if ran.add(1, ordering: .relaxed).newValue == 199 { last.open() }
      })
    try await onThread { queue.run() }
    #expect(ran.load(ordering: .relaxed) == 199)
  }

  @Test("While the completion block of a batch is delayed, no operation is admitted", .timeLimit(.minutes(1)))
  func batches() async throws {
    let fixture = Fixture(1)
    let lanes = fixture.lanes
    let admitted = Atomic<Int>(0)
    let ended = Atomic<Int>(0)
    let admittedBefore = Recorder<Int>()
    let queue = fixture.queue(.init(operations: 10)) { queue in
      let number = admitted.load(ordering: .sequentiallyConsistent)
      guard number < 100 else { return nil }
      admitted.store(number + 1, ordering: .sequentiallyConsistent)
      return ChunkOperation(
        itemCount: 1, isLarge: false, lanes: lanes,
        ending: { items in
          guard let block = queue.ending(itemCount: items) else { return nil }
          return {
            // The other operations of the window end meanwhile. A second way of admission would take more
            // from the source.
            while ended.load(ordering: .acquiring) < admitted.load(ordering: .acquiring) { sched_yield() }
            admittedBefore.record(admitted.load(ordering: .acquiring))
            block()
          }
        },
        finished: {
          ended.add(1, ordering: .sequentiallyConsistent)
          queue.finished()
        }
      ) { _ in
        // The first operation ends only after the window is full and the first admission has returned.
        while number == 0, lanes.standingBy < 9 || queue.isAdmitting { sched_yield() }
      }
    }
    try await onThread { queue.run() }
    #expect(ended.load(ordering: .sequentiallyConsistent) == 100)
    #expect(admittedBefore.values.first == 10)
  }

  @Test func beginsLargeChunksFirst() async throws {
    let fixture = Fixture(1)
    let ran = Recorder<Int>()
    let queue = fixture.queue(
      .init(operations: 10),
      next: fixture.supply(10, isLarge: { $0 == 7 || $0 == 9 }) { number in
        // The lane gets operation 0 before the source is asked for more; this body then waits until all
        // others are admitted.
        while number == 0, fixture.lanes.standingBy < 9 { sched_yield() }
        ran.record(number)
      })
    try await onThread { queue.run() }
    #expect(ran.values.filter { $0 != 0 } == [7, 9, 1, 2, 3, 4, 5, 6, 8])
  }

  @Test func releasesEachOperationThatIsDone() async throws {
    let fixture = Fixture(4)
    let made = Mutex<[WeakOperation]>([])
    let supply = fixture.supply(200) { _ in }
    let queue = fixture.queue(
      .init(operations: 8, perCheckpoint: 50),
      next: { queue in
        let operation = supply(queue)
        made.withLock { $0.append(WeakOperation(operation: operation)) }
        return operation
      })
    try await onThread { queue.run() }
    // Foundation's threads release the last operations later.
    try await onThread {
      while made.withLock({ $0.contains { $0.operation != nil } }) { sched_yield() }
    }
  }

  struct WeakOperation {
    weak var operation: ChunkOperation?
  }

  // MARK: Checkpoints

  @Test(arguments: [(10, 5), (12, 5), (3, 5), (5, 5), (1, 1), (64, 16)])
  func runsACheckpointAfterEachBatch(count: Int, limit: Int) async throws {
    let fixture = Fixture(4)
    let started = Atomic<Int>(0)
    let ended = Atomic<Int>(0)
    let seen = Recorder<[Int]>()
    let queue = fixture.queue(
      .init(operations: 64, perCheckpoint: limit),
      next: fixture.supply(count) { _ in
        started.add(1, ordering: .sequentiallyConsistent)
        ended.add(1, ordering: .sequentiallyConsistent)
      },
      checkpoint: {
        seen.record([
          started.load(ordering: .sequentiallyConsistent), ended.load(ordering: .sequentiallyConsistent),
        ])
      })
    try await onThread { queue.run() }
    // At a checkpoint, all operations before it are done and none after it has begun.
    let due = stride(from: limit, through: count, by: limit) + (count % limit == 0 ? [] : [count])
    #expect(seen.values == due.map { [$0, $0] })
  }

  // MARK: Back-pressure

  @Test(arguments: 0..<20) func goesOnWhenRoomAppearsAfterEverythingElseEnded(round: Int) async throws {
    let fixture = Fixture(1)
    let ran = Recorder<Int>()
    let hasRoom = Atomic<Bool>(true)
    let asked = Gate()
    let queue = fixture.queue(
      .init(operations: 1),
      next: fixture.supply(4) { number in
        ran.record(number)
        // From now on there is no room for more results.
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
}
