import BatchEngine
import BatchOutputs

/// The records of an audit's reference, one after the other.
package struct AuditRecords {
  enum Item {
    case record(RecordedPath, others: [Digest])
    case problem(Problem)
  }

  private enum Origin {
    case snapshot(SnapshotReader)
    case manifest(OpenManifest)
    case entries(ArraySlice<SnapshotEntry>)
    case tree(ArraySlice<RecordedPath>)
  }

  private var origin: Origin
  /// Whether there is more than files in it.
  let hasAllKinds: Bool
  private var groups = LinkGroups()
  /// Of rows with several digests, the one that is compared.
  private var preferred: Set<DigestAlgorithm> = [.sha256]
  /// Digests of no bytes.
  private var empty: [DigestAlgorithm: Digest] = [:]

  /// - Parameters:
  ///   - comparand: a manifest or a snapshot.
  ///   - preferred: the algorithms of what it is compared with, where these are known.
  /// - Throws: the error of opening it; `malformed` for a backup manifest that is damaged.
  package init(
    _ comparand: Comparand, preferring preferred: Set<DigestAlgorithm> = [], in context: SourceContext
  ) throws(BatchError) {
    hasAllKinds = comparand.hasAllKinds
    if !preferred.isEmpty { self.preferred = preferred }
    switch comparand {
    case .snapshot(let manifest):
      try SnapshotReader.check(manifest, in: context)
      origin = .snapshot(try SnapshotReader(manifest, in: context))
    case .manifest(let path), .folder(let path), .archive(let path, _):
      origin = .manifest(try OpenManifest(path, options: ManifestReader.Options(), in: context))
    }
  }

  package init(_ tree: RecordedTree) {
    origin = .tree(tree.records[...])
    hasAllKinds = tree.hasAllKinds
  }

  init(_ entries: [SnapshotEntry]) {
    origin = .entries(entries[...])
    hasAllKinds = true
  }

  /// Whether names begin with a dot by the form alone; known when a row was read.
  var isMtree: Bool { if case .manifest(let manifest) = origin { manifest.format == .mtree } else { false } }

  mutating func next() throws(BatchError) -> Item? {
    switch origin {
    case .tree(var rest):
      guard let record = rest.popFirst() else { return nil }
      origin = .tree(rest)
      return .record(record, others: [])
    case .entries(var rest):
      guard let entry = rest.popFirst() else { return nil }
      origin = .entries(rest)
      return .record(record(of: entry), others: [])
    case .snapshot(let reader):
      while let item = try reader.next() {
        guard case .entry(let entry, _) = item else { continue }
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
          if let found = try row(of: entry) { return found }
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

  private mutating func row(of entry: ManifestEntry) throws(BatchError) -> Item? {
    guard let digest = entry.digests.first(where: { preferred.contains($0.algorithm) }) ?? entry.digests.first
    else { return nil }
    var record = RecordedPath(entry, digest)
    if record.size == nil, try digest == emptyDigest(digest.algorithm) { record.size = 0 }
    let others =
      entry.isAlgorithmGuessed
      ? DigestAlgorithm.candidates(hexLength: digest.algorithm.byteCount * 2)
        .filter { $0 != digest.algorithm }.compactMap { digest.reinterpreted(as: $0) } : []
    return .record(record, others: others)
  }

  private mutating func emptyDigest(_ algorithm: DigestAlgorithm) throws(BatchError) -> Digest {
    if let known = empty[algorithm] { return known }
    let digest = try DigestStream(algorithm).finish()
    empty[algorithm] = digest
    return digest
  }
}

extension RecordedPath {
  /// A row of a backup manifest. Each name of a file is compared with the content, and is checked to be a name of that file
  /// still.
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
