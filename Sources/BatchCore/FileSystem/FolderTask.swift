import Dispatch
import Synchronization

/// One folder that is to be scanned once, by whoever comes first: a reader ahead, or the walk itself.
final class FolderTask: Sendable {
  private enum State {
    case waiting, running
    case done(ScannedFolder)
  }

  private let directory: DirectoryPath
  private let scanner: FolderScanner
  private let state = Mutex(State.waiting)
  private let completion = DispatchGroup()

  init(_ directory: DirectoryPath, scanner: FolderScanner) {
    self.directory = directory
    self.scanner = scanner
  }

  /// Scans the folder unless somebody else does or did.
  func runIfWaiting() {
    let isMine = state.withLock { state in
      guard case .waiting = state else { return false }
      state = .running
      completion.enter()
      return true
    }
    guard isMine else { return }
    let folder = scanner.scan(directory)
    state.withLock { $0 = .done(folder) }
    completion.leave()
  }

  /// The folder, scanned here if nobody has begun.
  func value() -> ScannedFolder {
    while true {
      runIfWaiting()
      if case .done(let folder) = state.withLock({ $0 }) { return folder }
      completion.wait()
    }
  }
}
