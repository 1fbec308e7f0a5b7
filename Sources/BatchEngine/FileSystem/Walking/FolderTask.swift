import Dispatch
import Synchronization

/// One folder, or a block of the files of one, that is scanned once: by a read-ahead queue, or by the walk if that comes first.
final class FolderTask: Sendable {
  private enum State {
    case waiting, running
    case done(ScannedFolder)
  }

  /// The target time of one task of a queue: several fast folders are scanned together, slow ones one by one on all threads.
  private static let turn = Duration.microseconds(1500)

  /// A block of this many files takes about as long as an ordinary folder.
  private static let filesOfFolder = 16

  /// Scans a folder. The number says how many more folders this turn may scan; a scan of folders below, or of a block of files, lowers it.
  private let scan: @Sendable (inout Int) -> ScannedFolder
  private let pace: ScanPace
  private let state = Mutex(State.waiting)
  private let completion = DispatchGroup()

  /// - Parameter pace: receives how long the scan took.
  init(_ directory: DirectoryPath, scanner: FolderScanner, pace: ScanPace) {
    scan = { scanner.scan(directory, andBelow: &$0) }
    self.pace = pace
  }

  /// Reads the status of a block of files, in a folder with many files.
  init(
    _ entries: ArraySlice<DirectoryEntry>, of folder: ScannedFolder, scanner: FolderScanner, pace: ScanPace
  ) {
    scan = { folders in
      folders -= 1 + entries.count / Self.filesOfFolder
      let (items, filteredCount) = scanner.block(entries, of: folder)
      return ScannedFolder(
        directory: folder.directory, status: nil, names: folder.names, items: items, rest: [],
        subdirectories: [], filteredCount: filteredCount)
    }
    self.pace = pace
  }

  /// Scans the folder unless another thread has begun to.
  ///
  /// - Parameter folders: the most folders to scan, this one and some below it.
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
    let folder = scan(&left)
    pace.note((ContinuousClock.now - start) / (folders - left))
    state.withLock { $0 = .done(folder) }
    completion.leave()
  }

  /// Scans the folder ahead of the walk, with enough folders below it to fill the target time.
  func runAhead() {
    runIfWaiting(folders: pace.folders(in: Self.turn))
  }

  /// The scanned folder. It is scanned here unless another thread has begun to; then waits for that thread.
  package func value() -> ScannedFolder {
    while true {
      runIfWaiting()
      if case .done(let folder) = state.withLock({ $0 }) { return folder }
      completion.wait()
    }
  }
}
