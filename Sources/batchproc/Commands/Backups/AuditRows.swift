import BatchCore
import BatchEngine

/// Writes the findings of an audit, as a table or as events.
struct AuditRows: Sendable {
  let session: Session
  /// Only rot, for a tree that may have changed since it was recorded.
  var showsRotAlone = false

  func write(_ findings: [AuditJob.Finding]) throws(BatchError) {
    session.advanced(findings.count)
    let rows = VerifyRows(showsWhole: session.common.verbose)
    for finding in findings where isShown(finding) {
      if let difference = finding.difference { session.found(finding.path, difference.kind.rawValue) }
    }
    if let events = session.reporter as? JSONReporter {
      for finding in findings where isShown(finding) {
        try events.write("difference") { line in
          line.add(path: finding.path)
          if let difference = finding.difference {
            rows.add(difference, to: &line)
          } else {
            line.add("class", "ok")
          }
          if let origin = finding.origin { line.add(path: origin, as: "origin") }
        }
      }
      return
    }
    var bytes = [UInt8]()
    for finding in findings where isShown(finding) {
      let verdict = finding.difference?.kind.rawValue.uppercased() ?? "OK"
      rows.append(finding.path, verdict, finding.difference?.aspects ?? [], to: &bytes)
      if let origin = finding.origin {
        bytes.removeLast()
        bytes += " (from ".utf8
        TerminalText.append(origin.bytes, to: &bytes)
        bytes += ")\n".utf8
      }
    }
    if !bytes.isEmpty { try session.output.write(bytes) }
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
