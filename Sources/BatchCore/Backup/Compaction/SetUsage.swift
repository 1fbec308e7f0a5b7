import BatchEngine

/// How much of a set only one snapshot needs: about what its removal wins, with a compaction afterwards.
///
/// A content takes about 30 bytes of memory. While a snapshot is measured, each content that only it needs takes about 80 more.
package struct SetUsage {
  private static let several = UInt32.max

  private let set: BackupSet
  private let run: RunContext
  private let numbers: [SnapshotName: UInt32]
  /// By a hash of the member: the number of the snapshot that needs it, or ``several``.
  private let owners: [Int: UInt32]

  /// Reads all manifests, and compares them with their digests.
  ///
  /// - Parameter snapshots: all snapshots of the set; encrypted ones must be opened.
  /// - Throws: `malformed` for a manifest that is damaged; the errors of reading it.
  package init(_ set: BackupSet, _ snapshots: [Snapshot], in run: RunContext) throws(BatchError) {
    (self.set, self.run) = (set, run)
    numbers = Dictionary(zip(snapshots.map(\.name), 0...)) { first, _ in first }
    var owners: [Int: UInt32] = [:]
    for (snapshot, number) in zip(snapshots, UInt32(0)...) {
      try set.check(snapshot, in: run)
      try Self.forEachMember(of: snapshot, in: set, run) { (place) in
        let owner = owners[place.hashValue, default: number]
        owners[place.hashValue] = owner == number ? number : Self.several
      }
    }
    self.owners = owners
  }

  /// The stored bytes of the contents that only one snapshot needs.
  ///
  /// - Throws: `malformed` for an archive that is damaged, `unsupported` for one without index; the errors of reading them.
  package func bytes(ofOnly snapshot: Snapshot) throws(BatchError) -> UInt64 {
    var own: [String: NeededMembers] = [:]
    try Self.forEachMember(of: snapshot, in: set, run) { (place) throws(BatchError) in
      guard owners[place.hashValue] == numbers[snapshot.name] else { return }
      try own[place.archive, default: NeededMembers()].insert(place.member, nil)
    }
    var stored: UInt64 = 0
    for (stamp, members) in own.sorted(by: { $0.key < $1.key }) {
      let archive = SnapshotName(
        set: snapshot.name.set, stamp: stamp, isEncrypted: snapshot.name.isEncrypted)
      do throws(BatchError) {
        let compactor = try ArchiveCompactor(
          set.archive(archive, in: SourceContext(run)), needed: members, least: 100,
          memory: run.options.memory,
          by: run.reading)
        stored.addWithinRange(compactor.measure.stored)
      } catch {
        throw error.path == nil ? error.at(set.path(archive.archive)) : error
      }
    }
    return stored
  }

  private static func forEachMember(
    of snapshot: Snapshot, in set: BackupSet, _ run: RunContext,
    _ body: (SnapshotEntry.Place) throws(BatchError) -> Void
  ) throws(BatchError) {
    let manifest = set.manifest(of: snapshot.name)
    let reader = try SnapshotReader(manifest, in: SourceContext(run))
    while let item = try reader.next() {
      try run.cancellation.check()
      guard case .entry(let entry, _) = item else { continue }
      for place in entry.places {
        do throws(BatchError) {
          try body(place)
        } catch {
          throw error.at(manifest.path)
        }
      }
    }
  }
}
