import BatchCore
import BatchEngine

/// Writes the findings of an audit, as a table or as events.
struct AuditRows: Sendable {
  let session: Session
  /// Only rot, for a tree that may have changed since it was recorded.
  var showsRotAlone = false
  /// Whether the files were restored from archives, so that one is missing because its content cannot be read.
  var areRestored = false

  func write(_ findings: [AuditJob.Finding]) throws(BatchError) {
    session.advanced(findings.count)
    let rows = VerifyRows(showsWhole: session.common.verbose)
    let shown = findings.filter(isShown)
    for finding in shown {
      if let difference = finding.difference { session.found(finding.path, word(for: difference)) }
    }
    try session.write(shown, as: "difference") { line, finding in
      line.add(path: finding.path)
      if let difference = finding.difference, isDamage(difference) {
        line.add("class", word(for: difference))
      } else if let difference = finding.difference {
        rows.add(difference, to: &line)
      } else {
        line.add("class", "ok")
      }
      if let origin = finding.origin { line.add(path: origin, as: "origin") }
    } text: { finding, bytes in
      let verdict = finding.difference.map { word(for: $0).uppercased() } ?? "OK"
      rows.append(finding.path, verdict, finding.difference?.aspects ?? [], to: &bytes)
      guard let origin = finding.origin else { return }
      bytes.removeLast()
      bytes += " (from ".utf8
      TerminalText.append(origin.bytes, to: &bytes)
      bytes += ")\n".utf8
    }
  }

  private func isDamage(_ difference: Difference) -> Bool { areRestored && difference.kind == .missing }

  private func word(for difference: Difference) -> String {
    isDamage(difference) ? "damaged" : difference.kind.rawValue
  }

  private func isShown(_ finding: AuditJob.Finding) -> Bool {
    guard let difference = finding.difference else { return !showsRotAlone && session.common.verbose }
    return !showsRotAlone || difference.kind == .rot
  }
}

extension AuditJob.Tally {
  /// Counts by class; the summary omits those that are zero.
  var words: [(Int, String)] { Difference.Class.allCases.map { (counts[$0] ?? 0, $0.rawValue) } }
}
