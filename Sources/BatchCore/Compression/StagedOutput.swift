/// An output that is written and has not its name yet.
struct StagedOutput: Sendable {
  let file: AtomicFile
  let source: FileRecord
  /// Whether the source goes when the output is safe; only after the output was read back and compared.
  let removesSource: Bool
}
