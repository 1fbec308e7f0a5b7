import Dispatch
import Synchronization

/// One folder that is to be scanned once, by whoever comes first: a reader ahead, or the walk itself.
final class FolderTask: Sendable {
  private enum State {
    case waiting, running
    case done(ScannedFolder)
  }

  /// Folders that take less are scanned several at once; those that take longer one by one, on all threads.
  private static let turn = Duration.microseconds(1500)

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
  ///
  /// - Parameter folders: how many are scanned at most, this one and some below it.
  func runIfWaiting(folders: Int = 1) {
    let isMine = state.withLock { state in
      guard case .waiting = state else { return false }
      state = .running
      completion.enter()
      return true
    }
    guard isMine else { return }
    let start = ContinuousClock.now
    var left = folders
    let folder = scanner.scan(directory, andBelow: &left)
    pace.note((ContinuousClock.now - start) / (folders - left))
    state.withLock { $0 = .done(folder) }
    completion.leave()
  }

  /// Scans the folder ahead of the walk, with so many below it that they are worth a turn of a thread.
  func runAhead() {
    runIfWaiting(folders: pace.folders(in: Self.turn))
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
