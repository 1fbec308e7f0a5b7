import BatchCore
import BatchEngine
import BatchOutputs

/// Reports the sources of a run that compresses or decompresses.
struct TransformRows: Sendable {
  let session: Session
  let tally: TransformTally

  func tell(_ report: TransformReport) throws(BatchError) {
    tally.add(report)
    if session.common.dryRun { return try list(report) }
    session.advanced(1)
    if let events = session.events {
      try events.write("file") { line in
        line.add(path: report.source)
        line.add("outcome", report.outcome.word)
        if case .written(let target, let plain, let compressed) = report.outcome {
          line.add(path: target, as: "output")
          line.add("size", plain)
          line.add("compressed", compressed)
          line.add("replaced", report.hasReplaced)
        }
        if case .copied(let target, let size) = report.outcome {
          line.add(path: target, as: "output")
          line.add("size", size)
        }
        if let gap = report.checkGap { line.add(gap) }
      }
    } else if session.common.verbose {
      session.diagnostics.print(report.line)
    }
  }

  /// Lists an output that a dry run would write.
  private func list(_ report: TransformReport) throws(BatchError) {
    guard case .planned(let target, _) = report.outcome else { return session.advanced(1) }
    let results = ResultWriter(session)
    var row = ResultRows()
    row.append { results.append(name: target, to: &$0) }
    try results.write(row)
  }
}

extension OutputOutcome {
  /// The name of the outcome in JSON.
  fileprivate var word: String {
    switch self {
    case .written: "written"
    case .upToDate: "up_to_date"
    case .compressedAlready: "compressed_already"
    case .notSmaller: "not_smaller"
    case .linked: "linked"
    case .copied: "copied"
    case .planned: "planned"
    }
  }
}

extension TransformReport {
  /// A line of JSON in the result of a shard.
  var receipt: [UInt8] {
    var receipt = [UInt8]()
    JSONLine.append(to: &receipt) { line in
      line.add(path: source)
      line.add("outcome", outcome.word)
      switch outcome {
      case .written(let target, let plain, let compressed):
        line.add(path: target, as: "output")
        line.add("size", plain)
        line.add("compressed", compressed)
      case .linked(let target), .copied(let target, _), .planned(let target, _):
        line.add(path: target, as: "output")
      case .upToDate, .compressedAlready, .notSmaller: break
      }
      if let checkGap { line.add("check", checkGap.word) }
    }
    return receipt
  }

  /// A line for the user, with `-v`.
  fileprivate var line: String {
    let text: String
    switch outcome {
    case .written(let target, let plain, let compressed):
      let ratio =
        plain > 0 ? Double(min(plain, compressed)) / Double(max(plain, compressed)) * 100 : 100
      text =
        "\(Int(ratio.rounded())) %, \(TerminalText.string(target.bytes))" + (hasReplaced ? ", replaced" : "")
        + (checkGap.map { ", \($0.message)" } ?? "")
    case .upToDate: text = "up to date"
    case .compressedAlready: text = "compressed already"
    case .notSmaller: text = "would not be smaller"
    case .linked(let target): text = "linked to \(TerminalText.string(target.bytes))"
    case .copied(let target, _): text = "copied to \(TerminalText.string(target.bytes))"
    case .planned(let target, _): text = TerminalText.string(target.bytes)
    }
    return "\(TerminalText.string(source.bytes)): \(text)"
  }
}
