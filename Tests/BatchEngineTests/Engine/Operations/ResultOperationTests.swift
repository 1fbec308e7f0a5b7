import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct ResultOperationTests {
  private static let broken = BatchError(.unreadable, "broken")

  private static func code(_ operation: ResultOperation<Int>) -> BatchError.Code? {
    do {
      _ = try operation.value()
      return nil
    } catch {
      return error.code
    }
  }

  @Test func givesTheValueOfItsBody() throws {
    let operation = ResultOperation { _ in 42 }
    operation.start()
    #expect(try operation.value() == 42)
    #expect(operation.failure == nil)
  }

  @Test func runsItsBodyOnItsQueue() async throws {
    let key = DispatchSpecificKey<Int>()
    let queue = DispatchQueue(label: "test.result")
    queue.setSpecific(key: key, value: 7)
    let operation = ResultOperation(on: queue) { _ in DispatchQueue.getSpecific(key: key) ?? 0 }
    let done = Gate()
    operation.completionBlock = { done.open() }
    try await onThread {
      operation.start()
      done.pass()
    }
    #expect(try operation.value() == 7)
  }

  @Test func throwsWhatItsBodyThrew() {
    let operation = ResultOperation<Int> { _ in throw Self.broken }
    operation.start()
    #expect(throws: Self.broken) { try operation.value() }
    #expect(operation.failure == Self.broken)
  }

  @Test func turnsAForeignErrorIntoOneOfItsOwn() {
    struct Foreign: Error {}
    let operation = ResultOperation<Int> { _ in throw Foreign() }
    operation.start()
    #expect(Self.code(operation) == .invalid)
  }

  @Test func refusesAResultBeforeTheEnd() {
    let operation = ResultOperation { _ in 1 }
    #expect(Self.code(operation) == .invalid)
    #expect(operation.failure == nil)
  }

  @Test func saysThatItWasCancelledBeforeItBegan() {
    let operation = ResultOperation { _ in 1 }
    operation.cancel()
    operation.start()
    #expect(Self.code(operation) == .cancelled)
  }

  @Test func saysThatItWasCancelledWhileItRan() {
    let operation = ResultOperation<Int> { operation in
      operation.cancel()
      return 1
    }
    operation.start()
    #expect(Self.code(operation) == .cancelled)
  }

  @Test func keepsItsValueWhenItIsCancelledAfterwards() throws {
    let operation = ResultOperation { _ in 1 }
    operation.start()
    operation.cancel()
    #expect(try operation.value() == 1)
  }

  @Test func runsAfterTheSuccessOfAnotherOnAnotherQueue() async throws {
    let first = ResultOperation { _ in 20 }
    let second = ResultOperation { _ in try first.value() + 1 }
    try second.requireSuccess(of: first)
    try await onThread {
      let queues = [OperationQueue(), OperationQueue()]
      queues[1].addOperation(second)
      queues[0].addOperation(first)
      for queue in queues { queue.waitUntilAllOperationsAreFinished() }
    }
    #expect(try second.value() == 21)
  }

  @Test func failsWithoutRunningWhenWhatItRequiresFailed() throws {
    let ran = Atomic<Bool>(false)
    let first = ResultOperation<Int> { _ in throw Self.broken }
    let second = ResultOperation { _ in
      ran.store(true, ordering: .relaxed)
      return 1
    }
    let third = ResultOperation { _ in 2 }
    try second.requireSuccess(of: first)
    try third.requireSuccess(of: second)
    for operation in [first, second, third] { try operation.startByHand() }
    #expect(third.failure == Self.broken)
    #expect(ran.load(ordering: .relaxed) == false)
  }

  @Test func failsWhenWhatItRequiresWasCancelled() throws {
    let first = ResultOperation { _ in 1 }
    let second = ResultOperation { _ in 2 }
    try second.requireSuccess(of: first)
    first.cancel()
    first.start()
    try second.startByHand()
    #expect(Self.code(second) == .cancelled)
  }

  @Test func runsAfterAPlainDependencyThatFailed() throws {
    let first = ResultOperation<Int> { _ in throw Self.broken }
    let second = ResultOperation { _ in 2 }
    try second.addCheckedDependency(first)
    first.start()
    try second.startByHand()
    #expect(try second.value() == 2)
  }

  @Test func refusesToRequireOneThatWaitsForIt() throws {
    let first = ResultOperation { _ in 1 }
    let second = ResultOperation { _ in 2 }
    try second.requireSuccess(of: first)
    #expect { try first.requireSuccess(of: second) } throws: { ($0 as? BatchError)?.code == .invalid }
    #expect(first.isReady)
    first.start()
    try second.startByHand()
    #expect(try second.value() == 2)
  }

  @Test func letsGoOfWhatItRequired() throws {
    let second = ResultOperation { _ in 2 }
    weak var released: ResultOperation<Int>?
    do {
      let first = ResultOperation { _ in 1 }
      released = first
      try second.requireSuccess(of: first)
      first.start()
      try second.startByHand()
      second.removeDependency(first)
    }
    #expect(released == nil)
  }
}
