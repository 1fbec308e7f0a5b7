import BatchEngine
import BatchOutputs

/// Files with recovery data that wait for their names.
package struct WrittenParity {
  private let volumes: [AtomicFile]
  private let index: AtomicFile?
  /// In the order in which they get them.
  package let names: [PathBytes]
  /// The sum of their sizes in bytes.
  package let size: Int64

  /// - Parameter files: the index last.
  init(_ files: [AtomicFile], _ names: [PathBytes]) throws(BatchError) {
    (volumes, index, self.names) = (Array(files.dropLast()), files.last, names)
    var size: Int64 = 0
    for file in files { size += try file.size() }
    self.size = size
  }

  /// Computes the recovery data of an output that has no final name yet.
  ///
  /// - Parameters:
  ///   - folder: that of the output; nil to open it by its path.
  ///   - isReplacing: whether existing files are replaced.
  ///   - besides: whether existing volumes keep their names all the same.
  /// - Returns: nil for an empty output, which has no block.
  /// - Throws: the error of reading the output, or of writing; `invalid` if a name is taken.
  package static func of(
    _ output: OutputFile, _ options: ParityOptions, in folder: OpenFolder? = nil, isReplacing: Bool,
    besides: Bool = false, _ run: RunContext
  ) throws(BatchError) -> WrittenParity? {
    let size = UInt64(clamping: try output.size() ?? 0)
    guard size > 0 else { return nil }
    let place: OpenFolder
    if let folder { place = folder } else { place = try run.folders.folder(named: output.path.parent) }
    let held = HeldOutput(Descriptor(owning: try output.openForReading(syncing: false)))
    let source = ParityEncoder.Source.output(
      held, name: PathBytes(output.path.lastComponent), shown: output.path, size: size)
    let encoded = try ParityEncoder([source], options, in: run).encode(scratchIn: place)
    return try encoded.write(at: output.path, in: place, isReplacing: isReplacing, besides: besides)
  }

  /// The last names of the files.
  package var lastNames: [PathBytes] { names.map { PathBytes($0.lastComponent) } }

  /// Gives the files their names, the index last.
  ///
  /// - Parameter metadata: of the files; the default is what the umask gives.
  package func commit(
    _ metadata: AtomicFile.Metadata = AtomicFile.Metadata(), isSynced: Bool, by right: CommitRight
  ) throws(BatchError) {
    try commitVolumes(metadata, isSynced: isSynced, by: right)
    try commitIndex(metadata, isSynced: isSynced, by: right)
  }

  /// Gives the files with recovery blocks their names. Each of them describes the set too.
  package func commitVolumes(
    _ metadata: AtomicFile.Metadata = AtomicFile.Metadata(), isSynced: Bool, by right: CommitRight
  ) throws(BatchError) {
    for file in volumes { try file.commit(metadata, syncing: isSynced, by: right) }
  }

  package func commitIndex(
    _ metadata: AtomicFile.Metadata = AtomicFile.Metadata(), isSynced: Bool, by right: CommitRight
  ) throws(BatchError) {
    try index?.commit(metadata, syncing: isSynced, by: right)
  }

  package func discard() {
    for file in volumes { file.discard() }
    index?.discard()
  }
}
