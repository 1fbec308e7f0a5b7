import BatchEngine
import Synchronization

/// A library that the program does better with and can do without: it is opened and tried when it is first worth it.
package final class OptionalLibrary<Tool: Sendable>: Sendable {
  private enum State {
    /// How many bytes its work was asked for so far.
    case unopened(Int)
    case opened(Tool)
    case refused(BatchError)
  }

  private let state = Mutex<State>(.unopened(0))
  private let threshold: Int
  private let open: @Sendable () throws(BatchError) -> Tool

  /// - Parameters:
  ///   - threshold: opening takes a moment, which as many bytes bring back.
  ///   - open: opens the library and holds its results against those of the usual one.
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
