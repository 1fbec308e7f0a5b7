import BatchEngine
import BatchOutputs

/// One step of an audit.
package enum AuditItem: Sendable {
  /// What is recorded of a path. Where the length of its digest fits several algorithms, the others are tried too.
  case record(RecordedPath, others: [Digest])
  /// What the folder has and the record does not; hashed with the algorithms where that can tell where it came from.
  case new(PathBytes, FileRecord, [DigestAlgorithm])
  case problem(Problem)
}

/// Goes over a record, and then over what the folder has beside it.
package struct AuditSource: BatchSource {
  private enum Records {
    case snapshot(SnapshotReader)
    case manifest(OpenManifest)
    case entries(ArraySlice<SnapshotEntry>)
  }

  private let live: LiveTree
  private let context: SourceContext
  private let records: Records
  private var rest: ArraySlice<SnapshotEntry> = []
  private var places = RecordedPlaces()
  private var newPaths: NewPaths?
  private var isAtEnd = false
  private let findsNew: Bool
  /// Sizes of recorded files: a new file of another size is no copy.
  private var sizes: Set<UInt64> = []
  private var hasUnknownSizes = false
  private var algorithms: [DigestAlgorithm] = []
  private var groups = LinkGroups()

  /// What a record is written in; nil for a backup manifest.
  package let form: AuditForm?

  /// - Parameters:
  ///   - keys: open a backup manifest that is encrypted.
  ///   - manifest: a backup manifest, or one of the forms that ``ManifestReader`` reads.
  ///   - live: the folder that its names begin in.
  /// - Throws: the error of opening it; `malformed` for a backup manifest that is damaged.
  package init(
    _ manifest: PathBytes, keys: AgeKeys? = nil, live: LiveTree, in context: SourceContext
  ) throws(BatchError) {
    self.live = live
    self.context = context
    findsNew = true
    let file = ManifestFile(manifest, keys: keys)
    if manifest != "-", let reader = try Self.reader(of: file, in: context) {
      try SnapshotReader.check(file, in: context)
      records = .snapshot(reader)
      form = nil
    } else {
      form = try AuditForm(of: manifest, in: context)
      records = .manifest(try OpenManifest(manifest, options: ManifestReader.Options(), in: context))
      // The names of files alone are recorded: what is new anywhere below the folder counts.
      places.add(".", isDirectory: true)
    }
  }

  /// Rows of a snapshot alone; what else is there is no matter.
  init(_ entries: [SnapshotEntry], live: LiveTree, in context: SourceContext) {
    self.live = live
    self.context = context
    findsNew = false
    records = .entries([])
    rest = entries[...]
    form = nil
  }

  package mutating func next() throws(BatchError) -> AuditItem? {
    while !isAtEnd {
      if let item = try nextRecord() { return item }
      isAtEnd = true
      newPaths = findsNew ? NewPaths(live, places) : nil
    }
    switch newPaths?.next() {
    case .new(let path, let record):
      let size = UInt64(clamping: record.status.size)
      let mayBeCopy = record.status.kind == .regular && size > 0 && (hasUnknownSizes || sizes.contains(size))
      return .new(path, record, mayBeCopy ? algorithms : [])
    case .problem(let problem): return .problem(problem)
    case nil: return nil
    }
  }

  private mutating func nextRecord() throws(BatchError) -> AuditItem? {
    switch records {
    case .entries:
      guard let entry = rest.popFirst() else { return nil }
      return .record(record(of: entry), others: [])
    case .snapshot(let reader):
      while let item = try reader.next() {
        guard case .entry(let entry, _) = item else { continue }
        note(
          entry.path, isDirectory: entry.kind == .directory, entry.kind == .file ? entry.size : nil,
          [entry.digest].compactMap { $0 })
        return .record(record(of: entry), others: [])
      }
      return nil
    case .manifest(let manifest):
      while let item = try manifest.next() {
        switch item {
        case .text: continue
        case .malformed(let line, let reason):
          return .problem(
            Problem(.malformed, BatchError(.malformed, "line \(line): \(reason)", path: manifest.path)))
        case .entry(let entry):
          guard let digest = entry.digests.first(where: { $0.algorithm == .sha256 }) ?? entry.digests.first
          else {
            continue
          }
          if entry.size == nil { hasUnknownSizes = true }
          let others = others(of: entry, digest)
          note(entry.path, isDirectory: false, entry.size, [digest] + others)
          return .record(RecordedPath(entry, digest), others: others)
        }
      }
      return nil
    }
  }

  /// With the name that came first of those of its file, which need not be the one that has the content in the archive.
  private mutating func record(of entry: SnapshotEntry) -> RecordedPath {
    var record = RecordedPath(entry)
    record.firstName = LinkGroups.mayBelong(entry) ? groups.first(of: entry) : nil
    return record
  }

  private mutating func note(_ path: PathBytes, isDirectory: Bool, _ size: UInt64?, _ digests: [Digest]) {
    guard findsNew else { return }
    places.add(path, isDirectory: isDirectory)
    if let size { sizes.insert(size) }
    if algorithms.isEmpty { algorithms = digests.map(\.algorithm) }
  }

  private func others(of entry: ManifestEntry, _ digest: Digest) -> [Digest] {
    guard entry.isAlgorithmGuessed else { return [] }
    return DigestAlgorithm.candidates(hexLength: digest.algorithm.byteCount * 2)
      .filter { $0 != digest.algorithm }.compactMap { digest.reinterpreted(as: $0) }
  }

  package func weight(of item: AuditItem) -> Int64 {
    switch item {
    case .record(let record, _): record.digest == nil ? 0 : Int64(clamping: record.size ?? 0)
    case .new(_, let record, let algorithms): algorithms.isEmpty ? 0 : max(0, record.status.size)
    case .problem: 0
    }
  }

  package func retained(by item: AuditItem) -> Int64 { 512 }
}

extension RecordedPath {
  /// A row of a backup manifest. Each name of a file is held against the content, and then whether it still is a name of
  /// that file.
  init(_ entry: SnapshotEntry) {
    self.init(entry.path, entry.kind.fileKind)
    if entry.kind == .file { size = entry.size }
    modified = entry.modified
    mode = entry.mode
    owner = Owner(number: entry.owner)
    group = Owner(number: entry.group)
    linkTarget = entry.linkTarget
    digest = entry.digest
  }

  fileprivate init(_ entry: ManifestEntry, _ digest: Digest) {
    self.init(entry.path, .regular)
    size = entry.size
    modified = entry.modified.map {
      FileStatus.Time(seconds: $0.seconds, nanoseconds: Int32(clamping: $0.nanoseconds))
    }
    isTimeExact = false
    self.digest = digest
  }
}

extension SnapshotEntry.Kind {
  fileprivate var fileKind: FileStatus.Kind {
    switch self {
    case .file: .regular
    case .directory: .directory
    case .symbolicLink: .symbolicLink
    case .fifo: .fifo
    case .characterDevice: .characterDevice
    case .blockDevice: .blockDevice
    }
  }
}

/// The form of a manifest, so that a new one can be written in it.
package struct AuditForm: Sendable {
  package let format: ManifestFormat
  /// Of its first row.
  package let algorithms: [DigestAlgorithm]

  init?(of manifest: PathBytes, in context: SourceContext) throws(BatchError) {
    guard manifest != "-" else { return nil }
    let reader = try OpenManifest(manifest, options: ManifestReader.Options(), in: context)
    while let item = try reader.next() {
      guard case .entry(let entry) = item else { continue }
      guard let format = reader.format else { return nil }
      self.format = format
      algorithms = entry.digests.map(\.algorithm)
      return
    }
    return nil
  }
}

extension AuditSource {
  /// Whether a manifest is that of a backup.
  package static func isOfSnapshot(
    _ manifest: PathBytes, keys: AgeKeys?, in context: SourceContext
  ) -> Bool {
    manifest != "-" && (try? SnapshotReader(ManifestFile(manifest, keys: keys), in: context)) != nil
  }

  /// - Returns: nil for another kind of manifest.
  /// - Throws: why an encrypted one cannot be read.
  private static func reader(
    of manifest: ManifestFile, in context: SourceContext
  ) throws(BatchError) -> SnapshotReader? {
    if let reader = try? SnapshotReader(manifest, in: context) { return reader }
    let start = (try? SmallFile.start(of: manifest.path, count: AgeKeys.detectionLength)) ?? []
    guard AgeKeys.areNeeded(for: start) else { return nil }
    guard manifest.keys != nil else { throw AgeKeys.missing(manifest.path) }
    return try SnapshotReader(manifest, in: context)
  }
}

extension AuditItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .record(let record, _): record.path
    case .new(let path, _, _): path
    case .problem: nil
    }
  }
}
