/// An output that is written and has not its name yet.
struct StagedOutput: Sendable {
  let file: AtomicFile
  let source: FileRecord
  /// Whether the output was read back and compared, as it has to be before its source goes.
  let isProved: Bool

  /// Whether the source goes when the output is safe. One with several names waits for all of them.
  var removesSource: Bool { isProved && source.status.linkCount == 1 }
}
