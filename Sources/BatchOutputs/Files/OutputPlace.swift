import BatchEngine

/// The open folders of a source and of its output, usually the same folder.
package struct OutputPlace: Sendable {
  package let directory: DirectoryPath
  /// The folder through which the source is read and removed.
  package let source: OpenFolder
  /// The folder of the output; nil for a mirrored folder that does not exist yet.
  package var target: OpenFolder?
  /// The folder of the output, which exists.
  package var outputFolder: OpenFolder { target ?? source }
  /// Whether the path to the source may contain links, because the walk follows them.
  package let followsLinks: Bool
  /// Whether the target was prepared for outputs.
  package var isPrepared = false

  /// Whether a file is in the source folder of this place.
  package func holds(_ record: FileRecord) -> Bool {
    if record.directory === directory { return true }
    // Each operand has its own folder object, even with the same prefix.
    return record.isOperand && directory.identity == nil && record.directory.prefix == directory.prefix
  }

  /// Whether a folder is below this one, so that it can be opened from here.
  package func isAbove(_ other: DirectoryPath) -> Bool {
    directory.identity != nil && other.operandLength == directory.operandLength
      && other.prefix.bytes.count > directory.prefix.bytes.count
      && other.prefix.bytes.starts(with: directory.prefix.bytes)
  }
}
