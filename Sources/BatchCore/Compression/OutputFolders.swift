import Synchronization

/// The folders that a run writes to, each seen to before its first output: it is made where outputs are
/// mirrored, and cleared of the temporary files of runs that were killed.
final class OutputFolders: Sendable {
  private let isMirrored: Bool
  private let known = Mutex<Set<PathBytes>>([])

  init(_ options: TransformOptions) {
    isMirrored = options.naming.directory != nil
  }

  /// Sees to the folder of an output.
  ///
  /// - Throws: `unwritable` when it cannot be made.
  func prepare(for target: PathBytes) throws(BatchError) {
    let folder = target.parent
    guard !known.withLock({ $0.contains(folder) }) else { return }
    if isMirrored { try FolderMaker.make(folder) }
    // What cannot be removed is no reason to write nothing: a later run tries again.
    StaleTemporaries.remove(in: folder)
    // Noted last, so that no other lane finds it noted and not there.
    known.withLock { _ = $0.insert(folder) }
  }
}
