import BatchEngine
import BatchOutputs

// Tests call parts of outputs directly, with the calls of the kernel and the rights that a program has
// outside of its runs.

extension AtomicFile {
  package convenience init(
    at target: PathBytes, replacing: Bool, area: StagingArea = .shared
  ) throws(BatchError) {
    try self.init(at: target, replacing: replacing, calls: LinuxCalls(), area: area)
  }
}

extension OpenFolder {
  package convenience init(of target: PathBytes) throws(BatchError) {
    try self.init(of: target, calls: LinuxCalls())
  }
}

extension OutputFolders {
  package convenience init(_ options: OutputOptions) {
    self.init(
      mirroredInto: options.naming.directory, isSynced: options.isSynced, kept: options.keptFolders,
      opener: FolderOpener(calls: LinuxCalls()))
  }

  /// The folder of the output of a source, prepared.
  package func prepared(for record: FileRecord) throws(BatchError) -> OutputPlace {
    var last: OutputPlace?
    return try prepare(place(of: record, after: &last))
  }
}

extension StaleTemporaries {
  @discardableResult
  package static func remove(in folder: PathBytes) -> Outcome { remove(in: folder, calls: LinuxCalls()) }
}
