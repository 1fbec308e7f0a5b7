import BatchEngine

/// Where a source lies and where its output goes: two folders that are open, mostly one and the same.
package struct OutputPlace: Sendable {
  package let directory: DirectoryPath
  /// The folder through which the source is read, and removed.
  package let source: OpenFolder
  /// Nil for a mirrored folder that is not there yet.
  package var target: OpenFolder?
  /// Whether the way to the source may go through links, because the options of the walk say so.
  package let followsLinks: Bool
  /// Whether the target was prepared for outputs.
  package var isPrepared = false

  /// Whether a file lies in this place.
  package func holds(_ record: FileRecord) -> Bool {
    if record.directory === directory { return true }
    // Each operand has its own folder object, with the same prefix.
    return record.isOperand && directory.identity == nil && record.directory.prefix == directory.prefix
  }

  /// Whether a folder lies below this one, so that the way to it can begin here.
  package func isAbove(_ other: DirectoryPath) -> Bool {
    directory.identity != nil && other.operandLength == directory.operandLength
      && other.prefix.bytes.count > directory.prefix.bytes.count
      && other.prefix.bytes.starts(with: directory.prefix.bytes)
  }
}
