import BatchEngine
import BatchOutputs

/// The records of an audit's reference, one after the other.
package struct AuditRecords {
  typealias Item = (record: RecordedPath, others: [Digest])

  private enum Origin {
    case snapshot(SnapshotReader)
    case manifest(OpenManifest)
    case records(ArraySlice<RecordedPath>)
  }

  private var origin: Origin
  /// Whether it records more than files.
  let hasAllKinds: Bool
  private var groups = LinkGroups()
  /// The algorithms that are compared in rows with several digests.
  private var preferred: Set<DigestAlgorithm> = [.sha256]
  /// Digests of empty content.
  private var empty: [DigestAlgorithm: Digest] = [:]

  /// - Parameters:
  ///   - comparand: a manifest or a snapshot.
  ///   - preferred: the algorithms of the other side, if known.
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
    origin = .records(tree.records[...])
    hasAllKinds = tree.hasAllKinds
  }

  /// - Parameter paths: those of a snapshot.
  init(_ paths: [RecordedPath]) {
    origin = .records(paths[...])
    hasAllKinds = true
  }

  /// The records of some rows.
  static func paths(of entries: [SnapshotEntry]) -> [RecordedPath] {
    var groups = LinkGroups()
    return entries.map { record(of: $0, &groups) }
  }

  /// Whether the format makes names begin with a dot; known after a row was read.
  var isMtree: Bool { if case .manifest(let manifest) = origin { manifest.format == .mtree } else { false } }

  mutating func next() throws(BatchError) -> Yielded<Item, Never>? {
    switch origin {
    case .records(var rest):
      guard let record = rest.popFirst() else { return nil }
      origin = .records(rest)
      return .item((record, []))
    case .snapshot(let reader):
      while let item = try reader.next() {
        guard case .entry(let entry, _) = item else { continue }
        return .item((Self.record(of: entry, &groups), []))
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
          if let found = try row(of: entry) { return .item(found) }
        }
      }
      return nil
    }
  }

  /// Converts a row. Its first name is the earliest name of its file, which need not be the one with the content in the archive.
  private static func record(of entry: SnapshotEntry, _ groups: inout LinkGroups) -> RecordedPath {
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
    return (record, others)
  }

  private mutating func emptyDigest(_ algorithm: DigestAlgorithm) throws(BatchError) -> Digest {
    if let known = empty[algorithm] { return known }
    let digest = try DigestStream(algorithm).finish()
    empty[algorithm] = digest
    return digest
  }
}

extension RecordedPath {
  /// The record of a row in a backup manifest. Each name of a file is compared with the content, and must still be a name of
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
    modified = entry.modified
    isTimeExact = false
    self.digest = digest
  }
}

/// The format of a manifest, so that a new one can be written in the same format.
package struct AuditForm: Sendable {
  package let format: ManifestFormat
  /// The algorithms of its first row.
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
