import BatchEngine

extension BackupSet.Content {
  /// The newest snapshot of the series of a new one, and the stamps of those of all other series.
  func heads(
    besides new: SnapshotHeader, by grouping: Series.Grouping, _ machine: Machine
  ) -> (own: Snapshot?, others: Set<String>) {
    let series = Series.all(of: snapshots.map(\.header) + [new], by: grouping, machine: machine)
    var newest = Dictionary(zip(series, snapshots)) { $1 }
    let own = series.last.flatMap { newest.removeValue(forKey: $0) }
    return (own, Set(newest.values.map(\.name.stamp)))
  }

  /// The snapshots of the series of a new one whose runs were cut.
  func cut(
    besides new: SnapshotHeader, by grouping: Series.Grouping, _ machine: Machine
  ) -> [Snapshot] {
    let all = snapshots + cut
    let series = Series.all(of: all.map(\.header) + [new], by: grouping, machine: machine)
    return zip(series, all).filter { $0 == series.last && $1.footer.isCut }.map(\.1)
  }

  /// The newest snapshot without failures that this machine has made of some sources.
  ///
  /// - Parameters:
  ///   - stamp: the stamp of a snapshot that does not count.
  ///   - now: the current time, in seconds since 1970; later snapshots do not count.
  package func newestComplete(
    of paths: [PathBytes], besides stamp: String?, now: Int64
  ) throws(BatchError) -> Snapshot? {
    guard let newest = snapshots.last, !paths.isEmpty else { return nil }
    let machine = try Machine.current()
    var wanted = newest.header
    wanted.machine = machine.id
    let list = try SourceList(Set(paths.map(BackupTarget.place)).sorted())
    (wanted.sources, wanted.sourcesWord) = (list, try machine.word(for: list))
    let series = Series.all(of: snapshots.map(\.header) + [wanted], by: .hostAndSources, machine: machine)
    return Array(zip(series, snapshots)).last { one, snapshot in
      one == series.last && snapshot.isComplete && !snapshot.isFuture(at: now) && snapshot.name.stamp != stamp
    }?.1
  }
}
