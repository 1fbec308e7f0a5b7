import Synchronization

/// The folders that a run writes to, each seen to before its first output: it is made where outputs are
/// mirrored, and cleared of the temporary files of runs that were killed.
final class OutputFolders: Sendable {
  private let isMirrored: Bool
  /// Those that were seen to, with whether this run made them.
  private let known = Mutex<[PathBytes: Bool]>([:])

  init(_ options: TransformOptions) {
    isMirrored = options.naming.directory != nil
  }

  /// The folder of an output, seen to and open.
  ///
  /// - Throws: `unwritable` when it cannot be made or opened.
  func folder(of target: PathBytes) throws(BatchError) -> OutputFolder {
    try OutputFolder(of: target, isNew: try prepare(target.parent))
  }

  /// Sees to a folder.
  ///
  /// - Returns: whether this run made it.
  /// - Throws: `unwritable` when it cannot be made.
  @discardableResult
  func prepare(_ folder: PathBytes) throws(BatchError) -> Bool {
    if let isNew = known.withLock({ $0[folder] }) { return isNew }
    let isNew = isMirrored ? try FolderMaker.make(folder) : false
    // What cannot be removed is no reason to write nothing: a later run tries again.
    if !isNew { StaleTemporaries.remove(in: folder) }
    // Noted last, so that no other lane finds it noted and not there. Of two lanes one made it.
    return known.withLock { known in
      let wasMade = isNew || known[folder] == true
      known[folder] = wasMade
      return wasMade
    }
  }
}
