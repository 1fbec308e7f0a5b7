import BatchCore
import BatchEngine

/// The facts about one backup set for its report.
struct SetFacts: Sendable {
  struct Row: Sendable {
    let id: String
    /// In seconds since 1970.
    let started: Int64
    /// Snapshots since the last full one; 0 for a full one.
    let increment: UInt64
    let files: UInt64
    let bytes: UInt64
    /// The files and bytes in its own archive, before compression.
    let newFiles: UInt64
    let newBytes: UInt64
    let archiveBytes: UInt64
    /// Whether the archive was read back before it was renamed.
    let isVerified: Bool
    /// Archives that it needs and that are missing or have the wrong size.
    let faults: [String]
    /// Its damage that a drill or a verification found; nil if there is none.
    let damage: FoundDamage.Extent?
    var isEncrypted = false
    /// Nil if unknown.
    var failures: UInt64?
    /// The machine and the sources.
    var origin = ""
  }

  /// The snapshots of one machine with the same sources.
  struct Series: Sendable {
    /// The oldest first, one or more.
    let rows: [Row]
    /// Whether a newer series has its sources too, so that no further snapshot is expected.
    let isSuperseded: Bool

    var newest: Row { rows[rows.count - 1] }

    /// The first of the newest snapshots that have failures; nil if the newest one has none.
    var firstWithFailures: Row? {
      rows[((rows.lastIndex { $0.failures ?? 0 == 0 }) ?? -1).advanced(by: 1)...].first
    }

    /// The median of the intervals between the newest snapshots, in seconds; nil for fewer than four of them.
    var usualInterval: Int64? {
      let times = rows.suffix(15).map(\.started)
      let intervals = zip(times, times.dropFirst()).map { $1 - $0 }.sorted()
      return intervals.count < 3 ? nil : max(1, intervals[intervals.count / 2])
    }

    /// Whether the next snapshot is overdue: by the usual interval and half of it, but not by less than an hour.
    func isLate(at now: Int64) -> Bool {
      guard !isSuperseded, let interval = usualInterval else { return false }
      return now - newest.started > interval + max(3600, interval / 2)
    }

    func isFuture(at now: Int64) -> Bool { Retention.isFuture(newest.started, now: now) }
  }

  let name: PathBytes
  /// The snapshots, the oldest first.
  let rows: [Row]
  /// Errors of invalid manifests.
  var damaged: [BatchError] = []
  /// The existing archives, and their total bytes.
  let archives: Int
  let archiveBytes: UInt64
  /// Archives without a manifest that no snapshot needs.
  var unlisted: [SnapshotName] = []
  /// In seconds since 1970; nil when there was no drill.
  var lastDrill: Int64?
  var suspects = 0
  /// The ids of the snapshots of each series, if there are several.
  var ids: [(ids: Set<String>, isSuperseded: Bool)] = []

  /// The one with the newest snapshot is the last.
  var series: [Series] {
    guard !rows.isEmpty else { return [] }
    guard !ids.isEmpty else { return [Series(rows: rows, isSuperseded: false)] }
    return ids.map { ids, isSuperseded in
      Series(rows: rows.filter { ids.contains($0.id) }, isSuperseded: isSuperseded)
    }
  }

  /// The usual interval of the newest series.
  var usualInterval: Int64? { series.last?.usualInterval }

  func isLate(at now: Int64) -> Bool { series.contains { $0.isLate(at: now) } }

  /// Whether the newest snapshot of a series is dated after now.
  func isFuture(at now: Int64) -> Bool { series.contains { $0.isFuture(at: now) } }

  /// Whether all manifests are valid, and all needed archives exist with their recorded sizes.
  var isWhole: Bool { damaged.isEmpty && rows.allSatisfy(\.faults.isEmpty) }
}

extension SetFacts {
  init(_ set: BackupSet, in run: RunContext) throws(BatchError) {
    let content = try set.content(in: run)
    name = set.name
    damaged = content.damaged
    var found: FoundDamage?
    do throws(BatchError) {
      found = try set.foundDamage()
    } catch {
      damaged.append(error)
    }
    archives = content.archives.count
    unlisted = content.unlisted
    archiveBytes = content.archives.values.reduce(0) { $0 + min($1, .max - $0) }
    lastDrill = set.lastDrill
    // Damage in an archive that was removed since does not matter any more.
    suspects = found?.suspects.intersection(content.archives.keys.map(\.stamp)).count ?? 0
    let current = Set(content.snapshots.currentSeries(by: .hostAndSources).compactMap(\.last?.name.stamp))
    ids = content.snapshots.series(by: .hostAndSources).map { series in
      let stamps = series.map(\.name.stamp)
      return (Set(stamps), stamps.last.map { !current.contains($0) } ?? true)
    }
    rows = try content.snapshots.map { (snapshot) throws(BatchError) in
      let (header, footer) = (snapshot.header, snapshot.footer)
      let own = footer.needs[header.name.stamp]
      return Row(
        id: header.name.stamp, started: header.started.seconds, increment: header.increment,
        files: footer.files,
        bytes: footer.bytes, newFiles: own?.files ?? 0, newBytes: own?.bytes ?? 0,
        archiveBytes: footer.archiveSize, isVerified: footer.isVerified,
        faults: content.faults(of: snapshot).map(\.stamp),
        damage: try found.flatMap { (found) throws(BatchError) in
          try set.extent(of: found, in: snapshot, run)
        },
        isEncrypted: snapshot.name.isEncrypted, failures: footer.failures, origin: header.origin)
    }
  }
}
