import Foundation

/// An operation that can fail.
package protocol FallibleOperation: Operation {
  /// Why it ended so; nil before it has ended and after success.
  var failure: BatchError? { get }
}

extension Operation {
  /// Adds a dependency unless it would make a circle, in which no operation could begin.
  ///
  /// - Throws: `invalid` when the other operation waits for this one, directly or through others, and when this one depends
  ///   on it already.
  package func addCheckedDependency(_ other: Operation) throws(BatchError) {
    guard !dependencies.contains(where: { $0 === other }) else {
      throw BatchError(.invalid, "an operation cannot depend on another one twice")
    }
    var visited = Set<ObjectIdentifier>()
    var open = [other]
    while let next = open.popLast() {
      guard next !== self else {
        throw BatchError(.invalid, "an operation cannot depend on one that waits for it")
      }
      if visited.insert(ObjectIdentifier(next)).inserted { open += next.dependencies }
    }
    addDependency(other)
  }
}
