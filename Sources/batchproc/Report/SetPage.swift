import BatchCore
import BatchEngine

/// The report of the backup sets in one directory.
struct SetPage: Sendable {
  /// The absolute path.
  let directory: PathBytes
  /// The name of the machine; empty if unknown.
  var host = ""
  let sets: [SetFacts]
  /// The time of the report, in seconds since 1970.
  let now: Int64

  func html() throws(BatchError) -> [UInt8] {
    try ReportPage.html(title: sets.count == 1 ? "Backup set" : "Backup sets") { page in
      if !host.isEmpty { page.text("\(host): ") }
      page.name(directory)
      page.text(", \(CalendarTime(now).text)")
    } body: { page in
      appendOverview(to: &page)
      for (number, set) in sets.enumerated() {
        page.section(id: "s\(number)") { heading in
          heading.text("Set ")
          heading.name(set.name)
        } _: {
          append(set, "s\(number)", to: &$0)
        }
      }
    }
  }

  /// All sets in one table, with the result of each.
  private func appendOverview(to page: inout HTMLWriter) {
    let columns = [
      ("Set", false), ("State", false), ("Newest snapshot", false), ("Usual interval", true),
      ("Snapshots", true), ("Archives", true), ("Last drill", false),
    ]
    page.table("The sets at the time above", columns) { page in
      for (number, set) in sets.enumerated() {
        page.row { page in
          page.element("td") { page in
            page.element("a", ["href": "#s\(number)"]) { $0.name(set.name) }
          }
          page.element("td") { page in
            let (word, verdict) = state(of: set)
            page.verdict(word, verdict)
          }
          page.fixed(set.rows.last.map { CalendarTime($0.started).text } ?? "none")
          page.number(set.usualInterval.map { DurationText.text(seconds: Double($0)) } ?? "unknown")
          page.number(ByteCount.grouped(set.rows.count))
          page.number(Self.bytes(set.archiveBytes))
          page.element("td", ["class": "fixed"]) { page in
            if let drill = set.lastDrill {
              page.text(CalendarTime(drill).text)
            } else {
              page.verdict("none", .warn)
            }
          }
        }
      }
    }
  }

  private func state(of set: SetFacts) -> (String, HTMLWriter.Verdict) {
    if !set.isWhole { return ("archives or manifests damaged", .bad) }
    if set.rows.contains(where: { $0.damage != nil }) { return ("damage found", .bad) }
    if set.rows.isEmpty { return ("no snapshot", .warn) }
    if set.isFuture(at: now) { return ("the newest snapshot is in the future", .bad) }
    if set.isLate(at: now) { return ("no new snapshot for longer than usual", .warn) }
    if set.series.contains(where: { $0.firstWithFailures != nil }) { return ("failures", .warn) }
    return set.rows.contains { !$0.isVerified } ? ("not all verified", .warn) : ("good", .good)
  }

  private func append(_ set: SetFacts, _ id: String, to page: inout HTMLWriter) {
    appendState(of: set, to: &page)
    page.tiles(tiles(of: set), warned: set.lastDrill == nil ? ["Last drill"] : [])
    if set.rows.contains(where: { !$0.origin.isEmpty }) { appendSeries(of: set, to: &page) }
    if set.rows.count > 1 {
      page.element("h3", "Sizes over time")
      page.charts(charts(of: set, id))
    }
    if !set.rows.isEmpty {
      page.element("h3", "History")
      appendHistory(of: set, to: &page)
    }
    if !set.unlisted.isEmpty {
      page.element("h3", "Archives without a manifest")
      page.table(
        "No snapshot needs them; 'prune --unlisted' removes them.", [("Archive", false)], of: set.unlisted
      ) {
        page, archive in page.cell(name: archive.archive)
      }
    }
    guard !set.damaged.isEmpty else { return }
    page.element("h3", "Manifests that are not valid")
    page.table(
      "What they say is not in this report.", [("Manifest", false), ("Reason", false)], of: set.damaged
    ) { page, error in
      page.cell(name: error.path ?? "")
      page.cell(error.message)
    }
  }

  private func appendState(of set: SetFacts, to page: inout HTMLWriter) {
    let broken = set.rows.count { !$0.faults.isEmpty }
    let damaged = set.rows.count { $0.damage != nil }
    let unverified = set.rows.count { !$0.isVerified }
    page.element("p", ["class": "status"]) { page in
      if !set.isWhole {
        page.verdict(
          broken > 0
            ? "\(ByteCount.counted(broken, "snapshot")) cannot be restored: an archive is missing or has the wrong size."
            : "Some manifests are not valid.", .bad)
      } else if damaged > 0 {
        page.verdict(
          "A drill or a verification found damage in \(ByteCount.counted(damaged, "snapshot")).", .bad)
      } else if set.rows.isEmpty {
        page.verdict("There is no snapshot.", .warn)
      } else if let future = set.series.first(where: { $0.isFuture(at: now) }) {
        page.verdict(
          "The newest snapshot, \(future.newest.id), is in the future: please check the clock.", .bad)
      } else if let late = set.series.first(where: { $0.isLate(at: now) }), let interval = late.usualInterval
      {
        let newest = late.newest
        page.verdict(
          """
          All archives are there, but the newest snapshot is of \(CalendarTime(newest.started).text): usually one is made every \
          \(DurationText.text(seconds: Double(interval))).
          """, .warn)
      } else if unverified > 0 {
        page.verdict(
          "All archives are there; \(ByteCount.counted(unverified, "snapshot")) not verified.", .warn)
      } else {
        page.verdict("All archives are there, and all were read back when they were made.", .good)
      }
    }
  }

  private func appendSeries(of set: SetFacts, to page: inout HTMLWriter) {
    page.element("h3", "Series")
    let columns = [("Machine and sources", false), ("State", false), ("Newest", false), ("Snapshots", true)]
    page.table("The snapshots of one machine with the same sources.", columns, of: set.series.reversed()) {
      page, series in
      page.cell(series.newest.origin)
      page.element("td") { page in
        let (word, verdict) = state(of: series)
        page.verdict(word, verdict)
      }
      page.fixed(CalendarTime(series.newest.started).text)
      page.number(ByteCount.grouped(series.rows.count))
    }
  }

  private func state(of series: SetFacts.Series) -> (String, HTMLWriter.Verdict) {
    if series.isFuture(at: now) { return ("the newest snapshot is in the future", .bad) }
    if let first = series.firstWithFailures {
      let count = ByteCount.counted(Int(clamping: series.newest.failures ?? 0), "failure")
      return (
        """
        failures since \(CalendarTime(first.started).text), \(count) in the newest snapshot. A run with failures removes no old \
        snapshot: use --exclude for files that can never be read, or --on unreadable=warn.
        """, .warn
      )
    }
    if series.isLate(at: now) { return ("no new snapshot for longer than usual", .warn) }
    return series.isSuperseded
      ? ("a newer series has these sources too", .plain) : ("no failures in the newest snapshot", .good)
  }

  private func tiles(of set: SetFacts) -> [(label: String, value: String, note: String)] {
    let full = set.rows.count { $0.increment == 0 }
    var tiles = [
      (
        label: "Snapshots", value: ByteCount.grouped(set.rows.count),
        note: "\(ByteCount.grouped(full)) full, \(ByteCount.grouped(set.rows.count - full)) incremental"
      )
    ]
    if let newest = set.rows.last {
      tiles.append(
        Self.moment(
          "Newest", newest.started, newest.increment == 0 ? "full" : "increment \(newest.increment)"))
      tiles.append(
        ("Newest has", Self.bytes(newest.bytes), ByteCount.files(Int(clamping: newest.files))))
    }
    tiles.append(
      ("Archives", Self.bytes(set.archiveBytes), "\(ByteCount.grouped(set.archives)) on the disk"))
    let verified = set.rows.count { $0.isVerified }
    tiles.append(
      (
        "Verified", "\(ByteCount.grouped(verified)) of \(ByteCount.grouped(set.rows.count))",
        "read back when made"
      ))
    if let drill = set.lastDrill {
      let damage =
        set.suspects == 0 ? "no damage found" : "damage in \(ByteCount.counted(set.suspects, "archive"))"
      tiles.append(Self.moment("Last drill", drill, damage))
    } else {
      tiles.append(("Last drill", "none", "no snapshot was restored to test it"))
    }
    return tiles
  }

  private func charts(of set: SetFacts, _ id: String) -> [Chart] {
    let times = set.rows.map { CalendarTime($0.started).text }
    let isOneDay = Set(times.map { $0.prefix(10) }).count == 1
    // Seconds are shown if several snapshots are within one minute.
    let isFine = Set(times).count < times.count
    let days = set.rows.map { row in
      let time = CalendarTime(row.started, hasSeconds: isFine).text
      return String(isOneDay ? time.dropFirst(11) : time.prefix(10))
    }
    let span = "from \(times.first ?? "") to \(times.last ?? "")"
    func values(_ value: (SetFacts.Row) -> UInt64?) -> [Double?] {
      set.rows.map { value($0).map { Double($0) } }
    }
    func range(_ value: (SetFacts.Row) -> UInt64) -> String {
      let all = set.rows.map(value)
      return "\(Self.bytes(all.min() ?? 0)) to \(Self.bytes(all.max() ?? 0))"
    }
    return [
      Chart(
        title: "Size of what was backed up", unit: .bytes, perSecond: false, noun: "", axis: .places(days),
        series: [.init(name: "", form: .points, values: values { $0.bytes })],
        description: "The bytes of all files of each snapshot \(span): \(range { $0.bytes }).",
        id: id + "-size"),
      Chart(
        title: "Archive of each snapshot", unit: .bytes, perSecond: false, noun: "", axis: .places(days),
        series: [
          .init(
            name: "full", form: .bars, values: values { $0.increment == 0 ? $0.archiveBytes : nil },
            isSecond: true),
          .init(
            name: "incremental", form: .bars, values: values { $0.increment == 0 ? nil : $0.archiveBytes }),
        ],
        description: "The bytes of the archive of each snapshot \(span): \(range { $0.archiveBytes }).",
        id: id + "-archive"),
    ]
  }

  private func appendHistory(of set: SetFacts, to page: inout HTMLWriter) {
    let columns = [
      ("Snapshot", false), ("State", false), ("Begun", false), ("Kind", false), ("Files", true),
      ("Size", true), ("New files", true), ("New", true), ("Archive", true),
    ]
    page.table(
      "The newest first. New is what the archive holds, before compression.", columns, of: set.rows.reversed()
    ) { page, row in
      page.fixed(row.id)
      page.element("td") { appendState(of: row, to: &$0) }
      page.fixed(CalendarTime(row.started).text)
      page.fixed(row.increment == 0 ? "full" : "+\(row.increment)")
      page.number(ByteCount.grouped(Int(clamping: row.files)))
      page.number(Self.bytes(row.bytes))
      page.number(ByteCount.grouped(Int(clamping: row.newFiles)))
      page.number(Self.bytes(row.newBytes))
      page.number(Self.bytes(row.archiveBytes))
    }
  }

  private func appendState(of row: SetFacts.Row, to page: inout HTMLWriter) {
    if !row.faults.isEmpty {
      page.verdict("archive missing or altered: \(row.faults.joined(separator: ", "))", .bad)
    } else if let damage = row.damage {
      page.verdict(damage.text, .bad)
    } else if let failures = row.failures, failures > 0 {
      page.verdict(
        "\(ByteCount.counted(Int(clamping: failures), "failure"))\(row.isVerified ? ", verified" : "")", .warn
      )
    } else {
      page.verdict(row.isVerified ? "verified" : "not verified", row.isVerified ? .good : .plain)
    }
  }

  private static func bytes(_ count: UInt64) -> String { ByteCount.text(Int64(clamping: count)) }

  /// A tile with the day, and the time below it.
  private static func moment(_ label: String, _ seconds: Int64, _ note: String) -> (String, String, String) {
    let text = CalendarTime(seconds).text
    return (label, String(text.prefix(10)), "\(text.suffix(5)), \(note)")
  }
}
