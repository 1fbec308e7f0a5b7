import BatchEngine
import BatchOutputs

/// Completes a divided mirror: makes the names whose first name was in another shard, sets the metadata of folders, and writes
/// the manifest.
package struct MirrorMerge {
  private let finisher: MirrorFinisher
  private let folder: ContainedFolder
  private let writer: ManifestWriter
  private let isSynced: Bool
  private let write: ([UInt8]) throws(BatchError) -> Void
  private let failed: (BatchError) -> Void
  private var folders = FolderTree()
  private var entries: [FolderTree.Node: (report: MirrorReport, entry: ArchiveEntry)] = [:]
  /// The digests of files with several names, by their places.
  private var digests: [[UInt8]: Digest] = [:]
  private var current: ContainedFolder.Place?
  /// How many names and folders failed.
  package private(set) var failures = 0

  /// - Parameters:
  ///   - write: receives rows of the manifest.
  ///   - failed: receives why a name or a folder failed.
  /// - Throws: the error of opening the target.
  package init(
    into target: PathBytes, _ options: MirroringOptions, in run: RunContext,
    write: @escaping ([UInt8]) throws(BatchError) -> Void,
    failed: @escaping (BatchError) -> Void
  ) throws(BatchError) {
    folder = try ContainedFolder(target, opener: run.folders)
    finisher = MirrorFinisher(
      folder: folder, options: options, metadata: MirrorMetadata(calls: run.calls),
      times: TimeSteps(folder.area, isExact: false), right: run.commits,
      strides: { run.strides($0, least: $1, $2) }, comparesFirst: true)
    writer = try ManifestWriter(.gnu, algorithms: [.sha256])
    isSynced = options.isSynced
    (self.write, self.failed) = (write, failed)
  }

  /// Adds the records of a shard, in the order of the plan.
  ///
  /// - Throws: `malformed` for a record that is not valid; the error of writing.
  package mutating func add(_ rows: [UInt8]) throws(BatchError) {
    var rest = rows[...]
    while !rest.isEmpty {
      switch try MirrorRecord(from: &rest) {
      case .digest(let place, let digest, let size, let isShared):
        if isShared { digests[place.bytes] = digest }
        try writeRow(place, digest, size)
      case .name(let report, let first): try make(report, first)
      case .folder(let report, let entry):
        let node = folders.insert(report.place.bytes[...])
        // If two sources share a folder, it is described by the first one.
        if entries[node] == nil { entries[node] = (report, entry) }
      }
    }
  }

  private mutating func make(_ report: MirrorReport, _ first: RelativePath) throws(BatchError) {
    do throws(BatchError) {
      _ = try finisher.makeName(report, first, after: &current)
    } catch {
      failures += 1
      return failed(error.path == nil ? error.at(folder.path.appending(report.place.bytes)) : error)
    }
    if let digest = digests[first.bytes] { try writeRow(report.place, digest, report.size) }
  }

  private func writeRow(_ place: RelativePath, _ digest: Digest, _ size: Int64) throws(BatchError) {
    var row: [UInt8] = []
    try writer.append(
      ManifestRow(
        path: PathBytes(place.bytes), digests: [digest], size: UInt64(clamping: size), modified: nil),
      to: &row)
    try write(row)
  }

  /// Sets the metadata of the folders, and syncs the target.
  package mutating func finish() throws(BatchError) {
    current = nil
    var count = 0
    let failed = failed
    try finisher.describe(folders, entries) { _ in
    } failed: { (error, report) in
      count += 1
      failed(error.path == nil ? error.at(report.path) : error)
    }
    failures += count
    if isSynced { try folder.sync() }
  }
}
