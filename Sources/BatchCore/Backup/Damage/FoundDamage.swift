import BatchEngine

/// The damage that drills and verifications found in the archives of a set.
package struct FoundDamage: Sendable {
  private let states: [DrillState]

  /// - Throws: the error of reading the results.
  init(of set: BackupSet) throws(BatchError) {
    states = try set.drillPaths.map { (path) throws(BatchError) in try DrillState(path) }
  }

  /// Archives in which damage was found, by the stamps of their snapshots.
  package var suspects: Set<String> { states.reduce(into: []) { $0.formUnion($1.suspects) } }

  /// Whether the content or the header of an entry was found damaged, or may be damaged.
  func contains(_ entry: SnapshotEntry) -> Bool { states.contains { $0.isDamaged(entry) } }

  /// Whether it is unknown which entries in an archive are damaged.
  fileprivate func isVague(_ archive: String) -> Bool { states.contains { $0.isVague(archive) } }

  /// The damage of a snapshot.
  package struct Extent: Sendable {
    /// How many of its files are damaged; nil if that is unknown.
    package let files: Int?

    package init(files: Int?) { self.files = files }
  }
}

extension BackupSet {
  /// - Throws: the error of reading the results of drills.
  package func foundDamage() throws(BatchError) -> FoundDamage { try FoundDamage(of: self) }

  /// The damage of a snapshot; nil if none was found in what it needs.
  ///
  /// - Throws: the reason when the run is to stop.
  package func extent(
    of damage: FoundDamage, in snapshot: Snapshot, _ run: RunContext
  ) throws(BatchError) -> FoundDamage.Extent? {
    let suspects = damage.suspects.intersection(snapshot.archives.map(\.stamp))
    guard !suspects.isEmpty else { return nil }
    guard snapshot.isOpened, !suspects.contains(where: damage.isVague) else {
      return FoundDamage.Extent(files: nil)
    }
    var (entries, files) = (0, 0)
    do throws(BatchError) {
      let reader = try SnapshotReader(manifest(of: snapshot.name), in: SourceContext(run))
      while let item = try reader.next() {
        try run.cancellation.check()
        guard case .entry(let entry, _) = item, damage.contains(entry) else { continue }
        entries += 1
        if entry.kind == .file { files += 1 }
      }
    } catch {
      try run.cancellation.check()
      return FoundDamage.Extent(files: nil)
    }
    return entries == 0 ? nil : FoundDamage.Extent(files: files)
  }
}

/// The rows of the previous snapshot that are not kept, since their content in the archive is damaged.
struct DamagedRows: Sendable {
  private var damage: FoundDamage?
  private var suspects: Set<String> = []
  /// The link groups with a damaged name: one archive must contain all names of a file.
  private var groups: Set<UInt64> = []
  /// How many rows each archive has.
  private(set) var counts: [String: Int] = [:]

  /// No rows.
  init() {}

  /// - Parameter bases: the previous snapshots with their manifests, or the copies of these.
  /// - Throws: the error of reading the results of drills, or `malformed` for the manifest.
  init(
    of bases: [(snapshot: Snapshot, manifest: ManifestFile)], _ set: BackupSet, _ run: RunContext
  ) throws(BatchError) {
    let found = try set.foundDamage()
    for (snapshot, manifest) in bases
    where !found.suspects.isDisjoint(with: snapshot.archives.map(\.stamp)) {
      damage = found
      suspects = found.suspects
      let reader = try SnapshotReader(manifest, in: SourceContext(run))
      while let item = try reader.next() {
        try run.cancellation.check()
        guard case .entry(let entry, _) = item, found.contains(entry) else { continue }
        counts[entry.archive, default: 0] += 1
        if let group = entry.linkGroup { groups.insert(group) }
      }
    }
  }

  func contains(_ entry: SnapshotEntry) -> Bool {
    guard let damage else { return false }
    // A drill looks at files alone, and the header of a folder or link may be in the frame of a damaged file.
    if entry.kind != .file, suspects.contains(entry.archive) { return true }
    return damage.contains(entry) || entry.linkGroup.map(groups.contains) == true
  }
}
