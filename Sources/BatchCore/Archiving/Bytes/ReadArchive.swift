import BatchEngine

/// An archive that a call reads.
package struct ReadArchive: Sendable {
  /// `-` is standard input.
  package let path: PathBytes
  /// The program that reads ar, cab, ISO 9660, lha and rar archives, in a separate process; nil to refuse them.
  package var foreignReader: PathBytes?
  /// The keys for an encrypted archive.
  package var keys: AgeKeys?
  /// Whether it is a file of a backup set, in whose folder another user may have put a link or a pipe; these are refused.
  package var isOfSet = false

  package init(_ path: PathBytes) { self.path = path }

  package func open(in run: RunContext) throws(BatchError) -> ArchiveFile {
    var keys = keys
    keys?.memory = run.options.memory
    return try ArchiveFile(
      path, foreignReader: foreignReader.map { ForeignReaderProgram($0, memory: run.options.memory) },
      keys: keys, isOfSet: isOfSet, in: SourceContext(run))
  }
}
