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
  private let pace: ScanPace
  private let state = Mutex(State.waiting)
  private let completion = DispatchGroup()

  /// - Parameter pace: told how long the scan took.
  init(_ directory: DirectoryPath, scanner: FolderScanner, pace: ScanPace) {
    self.directory = directory
    self.scanner = scanner
    self.pace = pace
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
    let start = ContinuousClock.now
    let folder = scanner.scan(directory)
    pace.note(ContinuousClock.now - start)
    state.withLock { $0 = .done(folder) }
    completion.leave()
  }

  /// The folder, scanned here if nobody has begun.
  package func value() -> ScannedFolder {
    while true {
      runIfWaiting()
      if case .done(let folder) = state.withLock({ $0 }) { return folder }
      completion.wait()
    }
  }
}
