import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct ChunkOperationTests {
  @Test func runsItsBodyOnALane() async throws {
    let lanes = LanePool()
    let onLane = Recorder<Bool>()
    try await onThread {
      let done = Gate()
      let operation = ChunkOperation(itemCount: 3, isLarge: false, lanes: lanes) { bench in
        onLane.record(Lane.workbench === bench)
      }
      operation.completionBlock = { done.open() }
      operation.start()
      done.pass()
      #expect(operation.isFinished)
      #expect(operation.itemCount == 3)
    }
    #expect(onLane.values == [true])
  }

  @Test func leavesItsBodyOutWhenCancelledBeforeALaneIsFree() async throws {
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

  @Test func putsLargeChunksBeforeOthers() {
    let lanes = LanePool()
    let small = ChunkOperation(itemCount: 1, isLarge: false, lanes: lanes) { _ in }
    let large = ChunkOperation(itemCount: 1, isLarge: true, lanes: lanes) { _ in }
    #expect(large.queuePriority.rawValue > small.queuePriority.rawValue)
  }

  @Test func runsOnTheCallersThreadOnce() async throws {
    try await onThread {
      let threads = Recorder<ObjectIdentifier>()
      let bench = Workbench()
      let operation = ChunkOperation(itemCount: 1, isLarge: false, lanes: nil) { _ in
        threads.record(ObjectIdentifier(Thread.current))
      }
      try operation.run(on: bench)
      #expect(operation.isFinished)
      #expect { try operation.run(on: bench) } throws: { ($0 as? BatchError)?.code == .invalid }
      #expect(threads.values == [ObjectIdentifier(Thread.current)])
    }
  }
}
