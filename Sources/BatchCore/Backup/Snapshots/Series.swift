import BatchEngine

/// What the snapshots of one series of a set have in common.
package struct Series: Sendable, Hashable {
  /// Which of the two facts make a series.
  package enum Grouping: String, Sendable, CaseIterable {
    case hostAndSources = "host,sources"
    case host, sources, none

    var countsSources: Bool { self == .hostAndSources || self == .sources }
  }

  /// The id of the machine; nil if unknown, empty if it makes no difference.
  private var machine: String?
  /// A digest or word of the sources; nil if unknown, empty if it makes no difference.
  private var sources: String?

  /// The series of snapshots, in the same order.
  ///
  /// A snapshot of an earlier version lacks some of the facts. It joins the series that its known facts fit, if there is only
  /// one such series; otherwise such snapshots are a series of their own.
  ///
  /// - Parameter machine: this machine, which can compute the words for known sources.
  package static func all(
    of headers: [SnapshotHeader], by grouping: Grouping, machine: Machine? = nil
  ) -> [Series] {
    let known = digests(in: headers, machine)
    let series = headers.map { header in
      let sources = header.sources?.digest.hex ?? header.sourcesWord.map { known[$0] ?? $0 }
      return switch grouping {
      case .none: Series(machine: "", sources: "")
      case .host: Series(machine: header.machine, sources: "")
      case .sources: Series(machine: "", sources: sources)
      case .hostAndSources: Series(machine: header.machine, sources: sources)
      }
    }
    var choices = Set(series)
    var joined: [Series: Series] = [:]
    // Those that lack less come first, since others can join the series that results.
    for one in choices.sorted(by: { $0.unknown < $1.unknown }) where one.unknown > 0 {
      let fitting = choices.filter { $0 != one && one.fits($0) }
      guard let only = fitting.first, fitting.count == 1 else { continue }
      joined[one] = only
      choices.remove(one)
    }
    return series.map { joined[$0] ?? $0 }
  }

  private var unknown: Int { (machine == nil ? 1 : 0) + (sources == nil ? 1 : 0) }

  private func fits(_ other: Series) -> Bool {
    other.unknown < unknown && (machine == nil || machine == other.machine)
      && (sources == nil || sources == other.sources)
  }

  /// The digests of the lists whose words are known.
  private static func digests(in headers: [SnapshotHeader], _ machine: Machine?) -> [String: String] {
    var known: [String: String] = [:]
    for header in headers {
      guard let sources = header.sources else { continue }
      for word in [header.sourcesWord, try? machine?.word(for: sources)] {
        if let word { known[word] = sources.digest.hex }
      }
    }
    return known
  }
}

extension [Snapshot] {
  /// The snapshots of each series, in the order of their numbers; the series with the newest snapshot is the last one.
  package func series(by grouping: Series.Grouping, machine: Machine? = nil) -> [[Snapshot]] {
    let series = Series.all(of: map(\.header), by: grouping, machine: machine)
    return Dictionary(grouping: indices) { series[$0] }.values
      .sorted { ($0.last ?? 0) < ($1.last ?? 0) }
      .map { $0.map { self[$0] } }
  }

  /// The series without those whose sources a newer snapshot of the same machine has too.
  package func currentSeries(by grouping: Series.Grouping) -> [[Snapshot]] {
    let series = series(by: grouping)
    return series.indices.filter { index in
      !series[(index + 1)...].contains { newer in
        guard let one = series[index].last, let other = newer.last else { return false }
        return one.header.isCovered(by: other.header)
      }
    }.map { series[$0] }
  }

  /// The first of the newest snapshots that have failures; nil if the newest one has none.
  package var firstWithFailures: Snapshot? {
    self[(lastIndex(where: \.isComplete) ?? -1).advanced(by: 1)...].first
  }
}

extension SnapshotHeader {
  /// The machine and the sources, for people.
  package var origin: String {
    let paths = sources?.paths ?? []
    let list = paths.prefix(4).map(\.description).joined(separator: ", ")
    return "\(host ?? "unknown machine"): "
      + (paths.isEmpty ? "unknown sources" : paths.count > 4 ? "\(list) and \(paths.count - 4) more" : list)
  }

  fileprivate func isCovered(by other: SnapshotHeader) -> Bool {
    guard machine == nil || machine == other.machine, let sources, let others = other.sources else {
      return false
    }
    return sources.isCovered(by: others)
  }
}
