import Synchronization

/// The folders that a run writes to, each seen to before its first output: it is made where outputs are
/// mirrored, and cleared of the temporary files of runs that were killed.
final class OutputFolders: Sendable {
  private let isMirrored: Bool
  private let known = Mutex<Set<PathBytes>>([])

  init(_ options: TransformOptions) {
    isMirrored = options.naming.directory != nil
  }

  /// The folder of an output, seen to and open.
  ///
  /// - Parameter last: one that the caller got before, which may be the same.
  /// - Throws: `unwritable` when it cannot be made or opened.
  func folder(of target: PathBytes, last: OutputFolder? = nil) throws(BatchError) -> OutputFolder {
    let path = target.parent
    if let last, last.path == path { return last }
    try prepare(path)
    return try OutputFolder(of: target)
  }

  /// Sees to a folder.
  ///
  /// - Throws: `unwritable` when it cannot be made.
  func prepare(_ folder: PathBytes) throws(BatchError) {
    guard !known.withLock({ $0.contains(folder) }) else { return }
    if isMirrored { try FolderMaker.make(folder) }
    // What cannot be removed is no reason to write nothing: a later run tries again.
    StaleTemporaries.remove(in: folder)
    // Noted last, so that no other lane finds it noted and not there.
    known.withLock { _ = $0.insert(folder) }
  }
}
