import Dispatch
import Foundation
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

  @Test func runsAfterAPlainDependencyThatFailed() throws {
    let first = ResultOperation<Int> { _ in throw Self.broken }
    let second = ResultOperation { _ in 2 }
    second.addDependency(first)
    first.start()
    try second.startByHand()
    #expect(try second.value() == 2)
  }
}
