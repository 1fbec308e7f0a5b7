import BatchCore
import BatchEngine
import Synchronization

/// The paths of a command line and of its lists, counted when they are read.
final class Operands: Sendable {
  private let given: [PathBytes]
  private let lists: [PathList]
  private let run: RunContext
  private let taken = Mutex(0)
  /// Whether they can be read twice: standard input cannot.
  let isRepeatable: Bool

  init(_ given: [PathBytes], lists: [CommonOptions.FileList], run: RunContext) {
    self.given = given
    self.run = run
    self.lists = lists.map {
      PathList($0.path, isNULEnded: $0.isNULEnded, cancellation: run.cancellation, calls: run.calls)
    }
    isRepeatable = !given.contains("-") && !lists.contains { $0.path == "-" }
  }

  /// How many ``counted`` has returned.
  var count: Int { taken.withLock { $0 } }

  /// The paths of the command line, then those of the lists.
  var uncounted: AnyIterator<PathBytes> {
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

  /// Counts what a walk of the paths will find, beside the run; nil if they can be read only once.
  func total(_ walk: WalkOptions) -> ResultOperation<Counters.Snapshot>? {
    isRepeatable ? CountingWalk.operation(options: walk, run: run) { self.uncounted } : nil
  }

  /// The same paths, and counts each.
  var counted: AnyIterator<PathBytes> {
    let paths = uncounted
    return AnyIterator {
      let next = paths.next()
      if next != nil { self.taken.withLock { $0 += 1 } }
      return next
    }
  }
}
