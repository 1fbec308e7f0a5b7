import BatchEngine

/// A complete output that has not been renamed to its final name, as a value that a worker returns. Its file belongs to the
/// staging area of the run.
package struct StagedOutput: Sendable, Identifiable {
  /// Counted from 1 in the staging area.
  package let id: Int
  package let source: FileRecord
  /// The status of the source when it was read.
  package let read: FileStatus
  /// The inode of an output that further names are linked to; nil for a source with one name.
  package let identity: FileIdentity?
  /// Whether the output was read back and compared.
  package let isProved: Bool
}

/// The file of a complete output, passed from the worker to the committer.
package struct WrittenOutput: Sendable {
  package let file: AtomicFile
  /// The folder of its final name.
  package let folder: OpenFolder
  package let source: FileRecord
  /// The status of the source when it was read.
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

  /// The folder of a source that is removed when its output is committed; nil for a source with several names, which is removed
  /// after all outputs.
  private var removedFrom: OpenFolder? { source.status.linkCount == 1 ? sourceFolder : nil }

  /// Removes the source if the options require it.
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

/// A hard link to an output, created after that output is committed.
struct StagedLink: Sendable {
  let target: PathBytes
  /// Creates the link.
  ///
  /// - Returns: the folder of the link; nil if the output does not exist.
  let make: @Sendable (CommitRight) throws(BatchError) -> OpenFolder?
}

/// The result of a staged output.
enum CommitResult: Sendable {
  /// The output is committed.
  ///
  /// - `remaining`: why the source could not be removed, if it was to be removed.
  case committed(remaining: BatchError?)
  /// A link whose first output does not exist.
  case withoutFirst
  case failed(BatchError)
}
