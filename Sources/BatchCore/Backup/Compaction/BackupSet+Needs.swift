import BatchEngine

extension BackupSet {
  /// The members of some archives that snapshots need, by the rows of their manifests. The manifests are compared with their digests
  /// first.
  ///
  /// A name takes about 80 bytes of memory.
  ///
  /// - Parameter snapshots: opened ones, if they are encrypted.
  /// - Throws: `malformed` for a manifest that is damaged.
  func needs(
    of archives: Set<SnapshotName>, by snapshots: [Snapshot], in run: RunContext
  ) throws(BatchError) -> [SnapshotName: NeededMembers] {
    var needs = Dictionary(archives.map { ($0, NeededMembers()) }) { first, _ in first }
    for snapshot in snapshots where !archives.isDisjoint(with: snapshot.archives) {
      try check(snapshot, in: run)
      let manifest = manifest(of: snapshot.name)
      let reader = try SnapshotReader(manifest, in: SourceContext(run))
      while let item = try reader.next() {
        try run.cancellation.check()
        guard case .entry(let entry, _) = item else { continue }
        for place in entry.places {
          let archive = SnapshotName(
            set: snapshot.name.set, stamp: place.archive, isEncrypted: snapshot.name.isEncrypted)
          guard needs[archive] != nil else { continue }
          do throws(BatchError) {
            // A row with bases has the digest of the joined file. Its members have other digests.
            try needs[archive]?.insert(place.member, entry.baseList == nil ? entry.digest : nil)
            // The archive has the other names of a file as hard links, which stock tools extract.
            if entry.member == nil, entry.firstName != nil { try needs[archive]?.insert(link: entry.path) }
          } catch {
            throw error.at(manifest.path)
          }
        }
      }
    }
    return needs
  }

  /// The encrypted archives without a manifest of which less than a part is needed, as far as that is known without keys.
  ///
  /// Their companions record how many bytes of content they got; those of earlier versions record only the size of the archive, which
  /// is less.
  ///
  /// - Parameters:
  ///   - least: in percent.
  ///   - footers: the needs of snapshots, from their manifests; companions do not record the bytes.
  /// - Returns: the stamps of the archives.
  func archives(
    neededLessThan least: Int, by footers: [SnapshotFooter], in content: Content
  ) -> Set<String> {
    let own = Set((content.snapshots + content.cut).map(\.name))
    return content.archives.keys.reduce(into: []) { found, name in
      guard name.isEncrypted, !own.contains(name),
        let most = footers.compactMap({ $0.needs[name.stamp]?.bytes }).max(),
        let companion = try? companion(of: name)
      else { return }
      let total = companion.contentBytes ?? companion.archive.size
      if ArchiveCompactor.isBelow(least, most, of: total) { found.insert(name.stamp) }
    }
  }
}
