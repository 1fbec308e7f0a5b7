import BatchCore
import BatchEngine

/// The report of one run.
struct RunPage: Sendable {
  /// In a shorter run, in seconds, times are not meaningful.
  static let shortestMeasured = 0.2

  let facts: RunFacts

  func html() throws(BatchError) -> [UInt8] {
    try ReportPage.html(title: "batchproc \(facts.invocation.command)") { page in
      let host = HostName.current
      if !host.isEmpty { page.text("\(host), ") }
      page.text("\(CalendarTime(facts.began).text), \(DurationText.text(seconds: facts.seconds))")
      for operand in facts.invocation.operands.prefix(3) {
        page.text(" \u{00b7} ")
        page.name(operand)
      }
      let more = facts.invocation.operands.count - 3
      if more > 0 { page.text(" and \(ByteCount.grouped(more)) more") }
    } body: { page in
      appendState(to: &page)
      page.tiles(tiles)
      appendCharts(to: &page)
      appendFailures(to: &page)
      appendSkipped(to: &page)
      appendSlowest(to: &page)
      appendChanges(to: &page)
      appendOptions(to: &page)
    }
  }

  // MARK: Results

  private func appendState(to page: inout HTMLWriter) {
    let (word, kind) = facts.ending.verdict
    page.element("p", ["class": "status"]) { page in
      page.verdict(word, kind)
      page.element("span", ["class": "quiet"], " Exit status \(facts.ending.status).")
    }
    for error in facts.fatal {
      page.element("p", ["class": "bad"]) { page in
        if let path = error.path {
          page.name(path)
          page.text(": ")
        }
        page.text(RunRecorder.text(of: error))
      }
    }
  }

  private var tiles: [(label: String, value: String, note: String)] {
    let counts = facts.counts
    let summary = facts.summary
    let bytes = summary?.bytes ?? counts.byteCount
    let kinds = (summary?.kinds ?? []).filter { $0.count > 0 }.map { ByteCount.counted($0.count, $0.noun) }
    let noun = summary?.noun ?? "file"
    var tiles = [
      (
        label: noun.prefix(1).uppercased() + noun.dropFirst() + "s",
        value: ByteCount.grouped(summary?.files ?? counts.done), note: kinds.joined(separator: ", ")
      ),
      (
        summary?.output == nil ? "Bytes" : "In", ByteCount.text(bytes),
        ByteCount.rate(counts.byteCount, seconds: facts.seconds).map { "read at \($0)" } ?? ""
      ),
    ]
    if let output = summary?.output {
      let ratio =
        bytes > 0 ? "\(Decimals.text(Double(output) / Double(bytes) * 100, 1)) % of the input" : ""
      tiles.append(("Out", ByteCount.text(output), ratio))
    }
    tiles.append(("Time", DurationText.text(seconds: facts.seconds), rate(of: counts)))
    tiles.append(
      (
        "Skipped", ByteCount.grouped(counts.skipped),
        counts.skipped == 0 ? "" : "of \(ByteCount.grouped(counts.seen)) seen"
      ))
    tiles.append(("Failed", ByteCount.grouped(counts.failed), counts.failed == 0 ? "" : "named below"))
    if counts.changed > 0 { tiles.append(("Changed meanwhile", ByteCount.grouped(counts.changed), "")) }
    let known = [counts.skippedWord, "failed", "changed meanwhile"]
    for other in summary?.others ?? [] where other.count > 0 && !known.contains(other.word) {
      tiles.append(
        (other.word.prefix(1).uppercased() + other.word.dropFirst(), ByteCount.grouped(other.count), ""))
    }
    return tiles
  }

  private func rate(of counts: Counters.Snapshot) -> String {
    let files = counts.done + counts.failed
    guard facts.seconds > 0, files > 0 else { return "" }
    let rate = Double(files) / facts.seconds
    return "\(Decimals.text(rate, rate < 10 ? 1 : 0)) files/s"
  }

  private func appendCharts(to page: inout HTMLWriter) {
    let charts = RunCharts(facts.samples).charts
    guard !charts.isEmpty, facts.seconds >= Self.shortestMeasured else { return }
    page.section("Over time") { page in
      page.charts(charts)
    }
  }

  // MARK: Failures and warnings

  private func appendFailures(to page: inout HTMLWriter) {
    append(facts.findings, "Differences", ("Name", "Found"), to: &page)
    append(facts.failures, "Failures", ("Name", "Reason"), to: &page)
    append(facts.warnings, "Warnings", ("Name", "Reason"), to: &page)
  }

  private func append(
    _ remarks: RunFacts.Remarks, _ title: String, _ columns: (String, String), to page: inout HTMLWriter
  ) {
    guard remarks.count > 0 else { return }
    page.section(title) { page in
      if remarks.reasons.count > 1 {
        page.table("By reason", [(columns.1, false), ("Count", true)]) { page in
          for reason in remarks.reasons {
            page.row { page in
              page.cell(reason.text)
              page.number(ByteCount.grouped(reason.count))
            }
          }
          guard remarks.otherCount > 0 else { return }
          page.row { page in
            page.cell("other reasons")
            page.number(ByteCount.grouped(remarks.otherCount))
          }
        }
      }
      let caption = Self.caption(remarks.first.count, of: remarks.count, "name")
      page.table(caption, [(columns.0, false), (columns.1, false)], of: remarks.first) { page, remark in
        page.cell(name: remark.path ?? "")
        page.cell(remark.text)
      }
    }
  }

  /// The caption of a table that shows the first things of some.
  private static func caption(_ shown: Int, of count: Int, _ noun: String) -> String {
    let all = ByteCount.counted(count, noun)
    return count > shown ? "The first \(ByteCount.grouped(shown)) of \(all)" : all
  }

  private func appendSkipped(to page: inout HTMLWriter) {
    let reasons = facts.counts.skippedByReason
    guard !reasons.isEmpty else { return }
    page.section("Skipped") { page in
      page.element("div", ["class": "pair"]) { page in
        page.table("By reason", [("Reason", false), ("Count", true)], of: reasons) { page, entry in
          let (reason, count) = entry
          page.cell(reason.word(for: count))
          page.number(ByteCount.grouped(count))
        }
      }
    }
  }

  // MARK: Times

  private func appendSlowest(to page: inout HTMLWriter) {
    guard !facts.slowestFiles.isEmpty, facts.seconds >= Self.shortestMeasured else { return }
    page.section("Slowest files and folders") { page in
      page.table(
        "Files, by the time that operations were at them; blocks of one file add up",
        [("File", false), ("Time", true)],
        of: facts.slowestFiles
      ) { page, entry in
        page.cell(name: entry.path)
        page.number(Self.time(entry.seconds))
      }
      page.table(
        "Folders, by the files directly in them", [("Folder", false), ("Files", true), ("Time", true)],
        of: facts.slowestFolders
      ) { page, entry in
        page.cell(name: entry.path)
        page.number(ByteCount.grouped(entry.files))
        page.number(Self.time(entry.seconds))
      }
    }
  }

  private static func time(_ seconds: Double) -> String {
    seconds < 0.995
      ? "\(Decimals.text(seconds * 1000, seconds < 0.0995 ? 1 : 0)) ms" : DurationText.text(seconds: seconds)
  }

  private func appendChanges(to page: inout HTMLWriter) {
    guard !facts.changes.isEmpty else { return }
    page.section("Changes of the concurrency") { page in
      page.table(
        Self.caption(facts.changes.count, of: facts.changeCount, "change"),
        [("After", true), ("From", true), ("To", true), ("Why", false), ("Measured", true)],
        of: facts.changes
      ) { page, change in
        page.number(DurationText.text(seconds: change.time))
        page.number(change.change.old == 0 ? "paused" : "\(change.change.old)")
        page.number(change.change.new == 0 ? "paused" : "\(change.change.new)")
        page.cell(change.change.reason.text)
        page.number(
          ByteCount.rate(Int64(min(change.change.bytesPerSecond, 1e18)), seconds: 1) ?? "")
      }
    }
  }

  // MARK: Options

  private func appendOptions(to page: inout HTMLWriter) {
    page.section("Options") { page in
      page.element("div", ["class": "pair"]) { page in
        if !facts.invocation.options.isEmpty {
          page.table(
            "Options that were given", [("Option", false), ("Value", false)], of: facts.invocation.options
          ) { page, option in
            page.element("td") { $0.element("span", ["class": "name"], option.name) }
            page.cell(name: option.value ?? "")
          }
        }
        page.table("Limits and defaults of the run", [("Limit", false), ("Value", false)], of: facts.limits) {
          page, limit in
          page.cell(limit.name)
          page.cell(limit.value)
        }
      }
    }
  }
}

extension Ending {
  /// A sentence about the ending, and its verdict.
  fileprivate var verdict: (String, HTMLWriter.Verdict) {
    switch self {
    case .exit(.success): ("Everything was done.", .good)
    case .exit(.someFailed): ("Finished, but some inputs could not be processed.", .warn)
    case .exit(.budgetReached): ("Stopped at its budget; a further run continues.", .warn)
    case .exit(let status): (status.meaning, .bad)
    case .signal: ("Stopped by a signal.", .bad)
    }
  }
}
