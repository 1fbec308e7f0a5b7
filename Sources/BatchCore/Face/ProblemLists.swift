import BatchEngine
import Synchronization

/// The first problems of a run.
final class ProblemLists: RunObserver {
  private struct Lists {
    var failures: [Problem] = []
    var warnings: [Problem] = []
  }

  private let most: Int
  private let lists = Mutex(Lists())

  /// - Parameter most: the largest number of entries in each list.
  init(most: Int) {
    self.most = most
  }

  var failures: [Problem] { lists.withLock { $0.failures } }
  var warnings: [Problem] { lists.withLock { $0.warnings } }

  func met(_ problem: Problem, severity: Severity) {
    lists.withLock { lists in
      switch severity {
      case .note: break
      case .warning: if lists.warnings.count < most { lists.warnings.append(problem) }
      case .failure: if lists.failures.count < most { lists.failures.append(problem) }
      }
    }
  }
}
