import BatchEngine

/// Yields the rows of a snapshot's manifest in the form in which members of an archive are listed.
package struct SnapshotListReader: BatchReader {
  package typealias Item = MemberListReader.Item
  package typealias Row = Never

  private let reader: SnapshotReader
  private let planner: ExtractionPlanner
  package let end = SharedFindings()

  /// - Parameter selection: which rows are listed; `globs` are its patterns, for messages.
  /// - Throws: `malformed` for a manifest that is damaged.
  package init(
    _ manifest: ManifestFile, selection: MemberSelection, globs: [PathBytes], in context: SourceContext
  ) throws(BatchError) {
    try SnapshotReader.check(manifest, in: context)
    reader = try SnapshotReader(manifest, in: context)
    planner = ExtractionPlanner(try selection.decided(byNamesIn: manifest, in: context), globs: globs)
  }

  package func read(in context: Context) throws(BatchError) {
    var rows = [ListedMember]()
    while let item = try reader.next() {
      guard case .entry(let entry, _) = item,
        planner.chooses(entry.path, isDirectory: entry.kind == .directory)
      else { continue }
      rows.append(ListedMember(entry))
      guard rows.count == MemberListReader.sliceLength else { continue }
      try context.yield(.item(.rows(rows)))
      rows.removeAll(keepingCapacity: true)
    }
    if !rows.isEmpty { try context.yield(.item(.rows(rows))) }
    end.note { $0.unmatched = planner.unmatched }
  }
}

extension MemberSelection {
  /// Decides which texts are names in a snapshot, whose manifest was checked.
  func decided(byNamesIn manifest: ManifestFile, in context: SourceContext) throws(BatchError)
    -> MemberSelection
  {
    guard isAmbiguous else { return self }
    var search = NameSearch(self)
    let reader = try SnapshotReader(manifest, in: context)
    while !search.isComplete, let item = try reader.next() {
      try context.cancellation.check()
      guard case .entry(let entry, _) = item else { continue }
      search.look(at: entry.path, isDirectory: entry.kind == .directory)
    }
    return decided(by: search)
  }
}

extension ListedMember {
  /// The listed member for a row of a backup manifest.
  init(_ entry: SnapshotEntry) {
    self.init(
      ArchiveEntry(
        path: entry.path, kind: entry.kind, size: entry.size, mode: entry.mode, owner: entry.owner,
        group: entry.group, modified: entry.modified, linkTarget: entry.linkTarget),
      digest: entry.digest)
  }
}
