import BatchEngine

/// A complete output that has not been renamed to its final name, as the value that a worker returns. Its file belongs to the
/// staging area of the run.
package struct StagedOutput: Sendable, Identifiable {
  /// Counted from 1 in the staging area.
  package let id: Int
  package let source: FileRecord
  /// The source as it was when it was read.
  package let read: FileStatus
  /// The inode of an output that further names are linked to; nil for a source with one name.
  package let identity: FileIdentity?
  /// Whether the output was read back and compared.
  package let isProved: Bool
}

/// The file of a complete output, on its way from the worker to the committer.
package struct WrittenOutput: Sendable {
  package let file: AtomicFile
  /// The folder that it gets its name in.
  package let folder: OpenFolder
  package let source: FileRecord
  /// The source as it was when it was read.
  package let read: FileStatus
  /// The folder that the source was read through; nil when the source stays.
  private let sourceFolder: OpenFolder?
  /// The inode of an output that further names are linked to.
  package let identity: FileIdentity?

  /// - Parameter isProved: whether the output was read back and compared, which is required before its source is removed.
  package init(
    _ file: AtomicFile, of source: FileRecord, _ read: FileStatus, at place: OutputPlace, isProved: Bool
  ) {
    self.file = file
    self.source = source
    self.read = read
    folder = place.target ?? place.source
    sourceFolder = isProved ? place.source : nil
    identity = source.status.linkCount > 1 ? file.identity : nil
  }

  /// Whether the output was read back and compared.
  package var isProved: Bool { sourceFolder != nil }

  /// The folder of a source that is removed when the output is safe; nil for a source with several names, which waits for all
  /// of them.
  private var removedFrom: OpenFolder? { source.status.linkCount == 1 ? sourceFolder : nil }

  /// Removes the source where that is asked for.
  ///
  /// - Returns: why it could not be removed.
  func removeSource(_ calls: any CommitCalls, by right: CommitRight) -> BatchError? {
    guard let folder = removedFrom else { return nil }
    do throws(BatchError) {
      try calls.remove(source, seen: read, in: folder, by: right)
      return nil
    } catch {
      return error
    }
  }
}

/// A further name for an output, which it gets after that one.
struct StagedLink: Sendable {
  let target: PathBytes
  /// Makes the link.
  ///
  /// - Returns: the folder that it is in; nil where the output is not there.
  let make: @Sendable (CommitRight) throws(BatchError) -> OpenFolder?
}

/// The result of a staged output.
enum CommitResult: Sendable {
  /// It has its name and is safe.
  ///
  /// - `remaining`: why the source could not be removed, where it was to be.
  case committed(remaining: BatchError?)
  /// A link whose first output is not there.
  case withoutFirst
  case failed(BatchError)
}
