import Foundation
import Testing

@testable import BatchEngine

@Suite struct FallibleOperationTests {
  private static func isRefused(_ operation: Operation, after other: Operation) -> Bool {
    do throws(BatchError) {
      try operation.addCheckedDependency(other)
      return false
    } catch {
      return error.code == .invalid
    }
  }

  @Test func refusesAnOperationThatWaitsForItself() {
    let operation = Operation()
    #expect(Self.isRefused(operation, after: operation))
    #expect(operation.dependencies.isEmpty)
  }

  @Test func refusesTheSameDependencyTwice() throws {
    let (first, second) = (Operation(), Operation())
    try second.addCheckedDependency(first)
    #expect(Self.isRefused(second, after: first))
    #expect(second.dependencies.count == 1)
  }

  @Test(arguments: 2...6) func refusesACircle(of count: Int) throws {
    let operations = (0..<count).map { _ in Operation() }
    for (earlier, later) in zip(operations, operations.dropFirst()) {
      try later.addCheckedDependency(earlier)
    }
    let (first, last) = (operations[0], operations[count - 1])
    #expect(Self.isRefused(first, after: last))
    #expect(first.dependencies.isEmpty)
  }

  @Test func acceptsTwoWaysToTheSameOperation() throws {
    let (top, left, right, bottom) = (Operation(), Operation(), Operation(), Operation())
    try left.addCheckedDependency(top)
    try right.addCheckedDependency(top)
    try bottom.addCheckedDependency(left)
    try bottom.addCheckedDependency(right)
    #expect(bottom.dependencies.count == 2)
  }
}
