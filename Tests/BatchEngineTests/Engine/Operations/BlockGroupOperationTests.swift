import Foundation
import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct BlockGroupOperationTests {
  @Test func itsBlocksRunSideBySide() async throws {
    try await onThread {
      // Each block waits for all others, so an operation that ran them one after the other would never end.
      let everybody = Rendezvous(4)
      let operation = BlockGroupOperation((0..<4).map { _ in { everybody.arrive() } })
      operation.started().wait()
      #expect(operation.isFinished)
    }
  }

  @Test func isFinishedWhenTheLastBlockIs() async throws {
    try await onThread {
      let (gate, done) = (Gate(), Recorder<Int>())
      let operation = BlockGroupOperation([
        { done.record(1) },
        {
          gate.pass()
          done.record(2)
        },
      ])
      let queue = OperationQueue()
      queue.addOperation(operation)
      while done.values.isEmpty { sched_yield() }
      #expect(!operation.isFinished)
      gate.open()
      queue.waitUntilAllOperationsAreFinished()
      #expect(done.values == [1, 2])
    }
  }

  @Test func noBlockOfACancelledOperationBegins() async throws {
    try await onThread {
      let done = Recorder<Int>()
      let operation = BlockGroupOperation([{ done.record(1) }])
      operation.cancel()
      operation.started().wait()
      #expect(operation.isFinished)
      #expect(done.values == [])
    }
  }

  @Test func withoutBlocksItIsFinishedAtOnce() async throws {
    try await onThread { BlockGroupOperation([]).started().wait() }
  }
}
