import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct ChunkOperationTests {
  @Test func runsItsBodyOnALane() async throws {
    let lanes = LanePool()
    let onLane = Recorder<Bool>()
    try await onThread {
      let done = Gate()
      let operation = ChunkOperation(itemCount: 3, isLarge: false, lanes: lanes) { lane in
        onLane.record(Lane.current === lane)
      }
      operation.completionBlock = { done.open() }
      operation.start()
      done.pass()
      #expect(operation.isFinished)
      #expect(operation.itemCount == 3)
    }
    #expect(onLane.values == [true])
  }

  @Test func skipsItsBodyWhenCancelledBeforeALaneIsFree() async throws {
    let lanes = LanePool()
    let ran = Atomic<Bool>(false)
    try await onThread {
      let queue = OperationQueue()
      queue.isSuspended = true
      let operation = ChunkOperation(itemCount: 1, isLarge: false, lanes: lanes) { _ in
        ran.store(true, ordering: .relaxed)
      }
      queue.addOperation(operation)
      operation.cancel()
      queue.isSuspended = false
      queue.waitUntilAllOperationsAreFinished()
      #expect(operation.isFinished)
    }
    #expect(ran.load(ordering: .relaxed) == false)
    #expect(lanes.count == 0)
  }

  @Test("A completion block that is set when the operation ends is always called", arguments: [false, true])
  func blockOfTheEnd(isCancelled: Bool) async throws {
    let lanes = LanePool(ConcurrencyLimit(2))
    let wasFinished = Recorder<Bool>()
    let called = Atomic<Int>(0)
    try await onThread {
      let queue = OperationQueue()
      let blocks = DispatchGroup()
      // The threads of the queue and of the lanes reach the end of an operation in varying order.
      for _ in 0..<1000 {
        blocks.enter()
        let made = Mutex<ChunkOperation?>(nil)
        let operation = ChunkOperation(
          itemCount: 1, isLarge: false, lanes: lanes,
          ending: { _ in
            wasFinished.record(made.withLock { $0.take()?.isFinished } ?? true)
            return {
              called.add(1, ordering: .relaxed)
              blocks.leave()
            }
          }
        ) { _ in }
        made.withLock { $0 = operation }
        if isCancelled { operation.cancel() }
        queue.addOperation(operation)
      }
      blocks.wait()
    }
    #expect(called.load(ordering: .relaxed) == 1000)
    #expect(wasFinished.values == Array(repeating: false, count: 1000))
  }

  @Test func putsLargeChunksBeforeOthers() {
    let lanes = LanePool()
    let small = ChunkOperation(itemCount: 1, isLarge: false, lanes: lanes) { _ in }
    let large = ChunkOperation(itemCount: 1, isLarge: true, lanes: lanes) { _ in }
    #expect(large.queuePriority.rawValue > small.queuePriority.rawValue)
  }

  @Test func runsOnTheCallersThreadOnce() async throws {
    try await onThread {
      let threads = Recorder<ObjectIdentifier>()
      let lane = Lane()
      let operation = ChunkOperation(itemCount: 1, isLarge: false, lanes: nil) { _ in
        threads.record(ObjectIdentifier(Thread.current))
      }
      try operation.run(on: lane)
      #expect(operation.isFinished)
      #expect { try operation.run(on: lane) } throws: { ($0 as? BatchError)?.code == .invalid }
      #expect(threads.values == [ObjectIdentifier(Thread.current)])
    }
  }
}
