import BatchEngine

/// Selects a snapshot of a set.
package enum SnapshotPlace: Sendable, Hashable {
  /// The snapshot with the highest number.
  case latest
  /// The snapshot with this id, or the only one whose id begins with it.
  case id(String)
  /// The newest snapshot that began not later than this time.
  case time(WrittenTime)

  /// - Throws: `invalid` for text that is neither an id nor a time.
  package init(_ text: PathBytes) throws(BatchError) {
    if text == "latest" {
      self = .latest
    } else if let id = Self.id(text.bytes) {
      self = .id(id)
    } else if let time = WrittenTime(text.bytes) {
      self = .time(time)
    } else {
      throw BatchError(.invalid, "is neither an id nor a time", path: text)
    }
  }

  /// The beginning of an id, four or more characters.
  private static func id(_ text: [UInt8]) -> String? {
    let isBeginning = text.indices.allSatisfy { index in
      switch index {
      case 8: text[index] == UInt8(ascii: "T")
      case 15: text[index] == UInt8(ascii: "Z")
      default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(text[index])
      }
    }
    return isBeginning && (4...16).contains(text.count) ? String(decoding: text, as: UTF8.self) : nil
  }
}

/// Selects series by the facts that a user knows.
package struct SeriesChoice: Sendable, Hashable {
  /// The name of the machine.
  package var host: String?
  /// The absolute path of a source.
  package var source: PathBytes?

  package init(host: String? = nil, source: PathBytes? = nil) {
    (self.host, self.source) = (host, source)
  }

  package func includes(_ header: SnapshotHeader) -> Bool {
    (host == nil || host == header.host)
      && (source.map { header.sources?.paths?.contains($0) ?? false } ?? true)
  }
}

extension Snapshot {
  /// The id and the local time, for messages.
  package var label: String { "\(name.stamp) (\(LocalClock.text(of: header.started.seconds)))" }
}

extension BackupSet.Content {
  /// The selected snapshot; the newest one when no place is given.
  ///
  /// - Parameters:
  ///   - choice: the series among which to select, except by id.
  ///   - now: the current time, in seconds since 1970.
  /// - Throws: `missing` when no snapshot fits, `ambiguous` when several match, or when the newest snapshots of several series
  ///   could be meant; the error of a manifest if none is readable.
  package func snapshot(
    at place: SnapshotPlace?, of choice: SeriesChoice = SeriesChoice(),
    now: Int64 = FileStatus.Time.now.seconds
  ) throws(BatchError) -> Snapshot {
    guard !(snapshots.isEmpty && cut.isEmpty) else {
      throw damaged.first ?? BatchError(.missing, "there is no snapshot that can be read")
    }
    if case .id(let id) = place { return try snapshot(beginning: id) }
    guard !snapshots.isEmpty else {
      throw BatchError(
        .missing, "there is no complete snapshot",
        remedy: .advice("an incomplete one is restored by its id, which 'batchproc snapshots' lists"))
    }
    let content = only(choice)
    guard !content.snapshots.isEmpty else {
      throw BatchError(
        .missing, "no snapshot is of this machine and source",
        remedy: .advice("'batchproc snapshots' lists the machines and sources of all snapshots"))
    }
    guard case .time(let time) = place else { return try content.newest() }
    let choices = try time.moments(now: now).map { (moment) throws(BatchError) in
      try Choice(through: moment, of: time.precision, in: content)
    }
    return try content.choose(choices, time)
  }

  /// The content with the snapshots of some series alone.
  package func only(_ choice: SeriesChoice) -> Self {
    var content = self
    content.snapshots = snapshots.filter { choice.includes($0.header) }
    content.cut = cut.filter { choice.includes($0.header) }
    return content
  }

  /// The newest snapshot, if it is not uncertain which series is meant.
  ///
  /// - Throws: `ambiguous`.
  private func newest() throws(BatchError) -> Snapshot {
    let heads = snapshots.currentSeries(by: .hostAndSources).compactMap(\.last)
    guard heads.count > 1 else { return snapshots[snapshots.count - 1] }
    let list = heads.suffix(5).map { "\($0.header.origin), newest \($0.name.stamp)" }
      .joined(separator: "; ")
    throw BatchError(
      .ambiguous,
      "the set has snapshots of \(heads.count) series: \(heads.count > 5 ? "…; " : "")\(list)",
      remedy: .chooseSeries)
  }

  /// The result of one interpretation of a time.
  private struct Choice {
    let moment: Int64
    /// The newest snapshot that began not later.
    let snapshot: Snapshot?
    /// Whether that snapshot is listed with exactly this time.
    let isListed: Bool

    init(through moment: Int64, of precision: Int64, in content: BackupSet.Content) throws(BatchError) {
      self.moment = moment
      var earlier = content
      earlier.snapshots.removeAll { $0.header.started.seconds > moment }
      let found = earlier.snapshots.isEmpty ? nil : try earlier.newest()
      snapshot = found
      isListed = found.map { $0.header.started.seconds > moment - precision } ?? false
    }
  }

  private func choose(_ choices: [Choice], _ time: WrittenTime) throws(BatchError) -> Snapshot {
    let listed = choices.filter(\.isListed)
    // A time that is exactly in the list selects the listed snapshot.
    let fitting = (listed.isEmpty ? choices : listed).filter { $0.snapshot != nil }
    let names = Set(fitting.compactMap { $0.snapshot?.name.stamp })
    if names.count == 1, let snapshot = fitting.first?.snapshot { return snapshot }
    guard let first = fitting.first, let last = fitting.last, let one = first.snapshot,
      let other = last.snapshot
    else { throw missing("no snapshot is that old", nearest: snapshots.prefix(1)) }
    func written(_ moment: Int64) -> String {
      let offset = LocalClock.offset(at: moment)
      return LocalClock.text(ofWall: moment + offset - (time.precision - 1))
        + LocalClock.text(ofOffset: offset)
    }
    throw BatchError(
      .ambiguous, "the local clock showed this time twice, since it was set back",
      remedy: .advice(
        "write '\(written(first.moment))' for the snapshot \(one.name.stamp), or '\(written(last.moment))' for \(other.name.stamp)"
      ))
  }

  private func snapshot(beginning id: String) throws(BatchError) -> Snapshot {
    let all = snapshots + cut
    let found = all.filter { $0.name.stamp.hasPrefix(id) }
    if let only = found.first, found.count == 1 { return only }
    guard found.isEmpty else {
      let list = found.prefix(5).map(\.label).joined(separator: ", ")
      throw BatchError(
        .ambiguous,
        "the ids of \(found.count) snapshots begin with \(id): \(list)\(found.count > 5 ? ", …" : "")",
        remedy: "give more of the id")
    }
    let ordered = all.sorted { $0.name.stamp < $1.name.stamp }
    let next = ordered.firstIndex { $0.name.stamp > id } ?? ordered.endIndex
    throw missing(
      "no snapshot has the id \(id)", nearest: ordered[max(0, next - 1)..<min(ordered.count, next + 1)])
  }

  private func missing(_ reason: String, nearest: ArraySlice<Snapshot>) -> BatchError {
    let list = nearest.map(\.label).joined(separator: " and ")
    return BatchError(.missing, "\(reason); the nearest \(nearest.count == 1 ? "is" : "are") \(list)")
  }
}
