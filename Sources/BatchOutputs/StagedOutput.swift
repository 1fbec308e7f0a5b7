import BatchEngine

/// A complete output that has not been renamed to its final name, as a value that a worker returns. Its file belongs to
/// the ``OutputStage``.
package struct StagedOutput: Sendable, Identifiable {
  /// Counted from 1 in the run.
  package let id: Int
  package let source: FileRecord
  /// The status of the source when it was read.
  package let read: FileStatus
  /// The inode of an output that further names are linked to; nil for a source with one name.
  package let identity: FileIdentity?
  /// Whether the output was read back and compared.
  package let isProved: Bool
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
package enum CommitResult: Sendable {
  /// The output is committed.
  ///
  /// - `remaining`: why the source could not be removed, if it was to be removed.
  case committed(remaining: BatchError?)
  /// A link whose first output does not exist.
  case withoutFirst
  case failed(BatchError)
  /// The output could not be committed, because its file system is full; another try may find space.
  indirect case unwritten(FileRecord, BatchError)
}
