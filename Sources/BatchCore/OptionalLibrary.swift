import BatchEngine
import Synchronization

/// An optional library that makes the program faster. It is opened and tested when enough work was requested.
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
  ///   - threshold: bytes of work that save the time of opening it.
  ///   - open: opens the library and compares its results with those of the usual one.
  package init(threshold: Int, open: @escaping @Sendable () throws(BatchError) -> Tool) {
    self.threshold = threshold
    self.open = open
  }

  /// What the library offers; nil before it is worth opening, while another thread opens it, and where it is not used.
  ///
  /// - Parameter byteCount: what it is wanted for now.
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

  /// What the library offers, or why it is not used.
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
