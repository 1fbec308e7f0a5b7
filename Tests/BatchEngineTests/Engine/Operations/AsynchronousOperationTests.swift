import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct AsynchronousOperationTests {
  /// Runs until the test finishes it.
  private final class ManualOperation: AsynchronousOperation, @unchecked Sendable {
    let begun = Gate()
    let executions = Atomic<Int>(0)
    let refusals = Atomic<Int>(0)

    override func execute() {
      executions.add(1, ordering: .relaxed)
      begun.open()
    }

    override func cancelledBeforeStart() { refusals.add(1, ordering: .relaxed) }
  }

  @Test func runsOnAfterStartHasReturned() {
    let operation = ManualOperation()
    #expect(operation.isAsynchronous)
    #expect(!operation.isExecuting && !operation.isFinished)
    operation.start()
    #expect(operation.isExecuting && !operation.isFinished)
    operation.finish()
    #expect(!operation.isExecuting && operation.isFinished)
  }

  @Test func executesOnceHoweverOftenItIsStarted() {
    let operation = ManualOperation()
    operation.start()
    operation.start()
    operation.finish()
    operation.start()
    operation.finish()
    #expect(operation.executions.load(ordering: .relaxed) == 1)
    #expect(operation.isFinished)
  }

  @Test func cannotBeStartedByHandWhileAQueueHasIt() async throws {
    try await onThread {
      let operation = ManualOperation()
      let queue = OperationQueue()
      queue.isSuspended = true
      queue.addOperation(operation)
      expectError(.invalid) { try operation.startByHand() }
      #expect(operation.executions.load(ordering: .relaxed) == 0)
      queue.isSuspended = false
      operation.begun.pass()
      operation.finish()
      queue.waitUntilAllOperationsAreFinished()
      #expect(operation.executions.load(ordering: .relaxed) == 1)
    }
  }

  @Test func cannotFinishBeforeItHasBegun() {
    let operation = ManualOperation()
    operation.finish()
    #expect(!operation.isFinished)
    operation.start()
    #expect(operation.isExecuting)
    operation.finish()
  }

  @Test func finishesWithoutExecutingWhenCancelledBefore() {
    let operation = ManualOperation()
    operation.cancel()
    operation.start()
    #expect(operation.isFinished && operation.isCancelled)
    #expect(operation.executions.load(ordering: .relaxed) == 0)
    #expect(operation.refusals.load(ordering: .relaxed) == 1)
  }

  @Test func endsWhenItsBodyEndsIfCancelledWhileItRuns() {
    let operation = ManualOperation()
    operation.start()
    operation.cancel()
    #expect(operation.isExecuting && operation.isCancelled)
    operation.finish()
    #expect(operation.isFinished)
  }

  @Test func refusesASecondStartByHand() throws {
    let operation = ManualOperation()
    try operation.startByHand()
    #expect { try operation.startByHand() } throws: { ($0 as? BatchError)?.code == .invalid }
    operation.finish()
    #expect { try operation.startByHand() } throws: { ($0 as? BatchError)?.code == .invalid }
  }

  @Test func refusesAStartByHandBeforeItsDependencies() throws {
    let first = ManualOperation()
    let second = ManualOperation()
    second.addDependency(first)
    #expect { try second.startByHand() } throws: { ($0 as? BatchError)?.code == .invalid }
    #expect(second.executions.load(ordering: .relaxed) == 0)
    try first.startByHand()
    first.finish()
    try second.startByHand()
    #expect(second.isExecuting)
    second.finish()
  }

  @Test func endsByHandWhenCancelledAlthoughADependencyIsOpen() throws {
    let first = ManualOperation()
    let second = ManualOperation()
    second.addDependency(first)
    second.cancel()
    try second.startByHand()
    #expect(second.isFinished)
    #expect(second.executions.load(ordering: .relaxed) == 0)
  }

  @Test func letsOneOfManyStartersWin() async throws {
    for _ in 0..<100 {
      let operation = ManualOperation()
      let winners = Recorder<Int>()
      let line = Rendezvous(4)
      try await onThreads(4) { number in
        line.arrive()
        if (try? operation.startByHand()) != nil { winners.record(number) }
      }
      #expect(winners.count == 1)
      #expect(operation.executions.load(ordering: .relaxed) == 1)
      operation.finish()
    }
  }

  @Test func holdsItsQueueUntilItFinishes() async throws {
    try await onThread {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      let first = ManualOperation()
      let second = ManualOperation()
      queue.addOperations([first, second], waitUntilFinished: false)
      first.begun.pass()
      #expect(second.executions.load(ordering: .relaxed) == 0)
      first.finish()
      second.begun.pass()
      second.finish()
      queue.waitUntilAllOperationsAreFinished()
      #expect(queue.operationCount == 0)
    }
  }

  @Test func notifiesItsQueueAndItsDependantsOnAnotherQueue() async throws {
    try await onThread {
      let queues = [OperationQueue(), OperationQueue()]
      let first = ManualOperation()
      let second = ManualOperation()
      second.addDependency(first)
      let completed = Gate()
      first.completionBlock = { completed.open() }
      queues[1].addOperation(second)
      queues[0].addOperation(first)
      first.begun.pass()
      #expect(!second.isReady)
      first.finish()
      completed.pass()
      second.begun.pass()
      #expect(first.isFinished)
      second.finish()
      for queue in queues { queue.waitUntilAllOperationsAreFinished() }
    }
  }

  @Test func callsItsCompletionBlockAlsoAfterCancellation() async throws {
    try await onThread {
      let queue = OperationQueue()
      queue.isSuspended = true
      let operation = ManualOperation()
      let completed = Gate()
      operation.completionBlock = { completed.open() }
      queue.addOperation(operation)
      queue.cancelAllOperations()
      queue.isSuspended = false
      completed.pass()
      queue.waitUntilAllOperationsAreFinished()
      #expect(operation.isFinished)
      #expect(operation.executions.load(ordering: .relaxed) == 0)
    }
  }
}
