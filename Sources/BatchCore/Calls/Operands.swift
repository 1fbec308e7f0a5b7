import BatchEngine
import Synchronization

/// The paths that a call processes, given one by one and in lists, counted when they are read.
package final class Operands: Sendable {
  private let given: [PathBytes]
  private let lists: [PathList]
  private let taken = Mutex(0)
  /// Whether they can be read twice: standard input cannot.
  private let isRepeatable: Bool

  /// - Parameters:
  ///   - given: `-` is standard input.
  ///   - lists: follow the given paths.
  package init(_ given: [PathBytes], lists: [PathList] = []) {
    self.given = given
    self.lists = lists
    isRepeatable = !given.contains("-") && !lists.contains(where: \.isStandardInput)
  }

  /// How many ``counted`` has returned.
  package var count: Int { taken.withLock { $0 } }

  /// All paths; nil if some are in lists.
  package var known: [PathBytes]? { lists.isEmpty ? given : nil }

  /// The given paths, then those of the lists.
  package var uncounted: AnyIterator<PathBytes> {
    // A chain of lazy sequences would be shorter, but the runtime creates its types first, which takes longer than
    // reading a short list.
    var paths = given.makeIterator()
    var following = lists.makeIterator()
    var list: AnyIterator<PathBytes>?
    return AnyIterator {
      if let path = paths.next() { return path }
      repeat {
        if let path = list?.next() { return path }
        list = following.next()?.makeIterator()
      } while list != nil
      return nil
    }
  }

  /// The same paths, and counts each.
  package var counted: AnyIterator<PathBytes> {
    let paths = uncounted
    return AnyIterator {
      let next = paths.next()
      if next != nil { self.taken.withLock { $0 += 1 } }
      return next
    }
  }

  /// Counts what a walk of the paths will find, beside the run; nil if they can be read only once.
  package func total(_ walk: WalkOptions, in run: RunContext) -> ResultOperation<Counters.Snapshot>? {
    isRepeatable ? CountingWalk.operation(options: walk, run: run) { self.uncounted } : nil
  }
}
