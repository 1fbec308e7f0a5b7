import BatchEngine
import Synchronization

/// An optional library that makes the program faster. It is opened and tested once enough work has been requested.
package final class OptionalLibrary<Tool: Sendable>: Sendable {
  private enum State {
    /// How many bytes of work were requested so far.
    case unopened(Int)
    case opened(Tool)
    case refused(BatchError)
  }

  private let state = Mutex<State>(.unopened(0))
  private let threshold: Int
  private let open: @Sendable () throws(BatchError) -> Tool

  /// - Parameters:
  ///   - threshold: bytes of work from which opening the library saves time.
  ///   - open: opens the library and compares its results with those of the default library.
  package init(threshold: Int, open: @escaping @Sendable () throws(BatchError) -> Tool) {
    self.threshold = threshold
    self.open = open
  }

  /// The functions of the library; nil before it is worth opening, while another thread opens it, and if it is not used.
  ///
  /// - Parameter byteCount: bytes of work that are requested now.
  package func tool(for byteCount: Int) -> Tool? {
    state.withLockIfAvailable { state in
      if case .unopened(let before) = state {
        let (count, isHuge) = before.addingReportingOverflow(byteCount)
        guard isHuge || count >= threshold else {
          state = .unopened(count)
          return nil
        }
        state = opened()
      }
      if case .opened(let tool) = state { return tool }
      return nil
    } ?? nil
  }

  /// The functions of the library, or why it is not used.
  package func result() -> Result<Tool, BatchError> {
    state.withLock { state in
      if case .unopened = state { state = opened() }
      return switch state {
      case .opened(let tool): .success(tool)
      case .refused(let error): .failure(error)
      case .unopened: .failure(BatchError(.unsupported, "not opened"))
      }
    }
  }

  private func opened() -> State {
    do throws(BatchError) {
      return .opened(try open())
    } catch {
      return .refused(error)
    }
  }
}
