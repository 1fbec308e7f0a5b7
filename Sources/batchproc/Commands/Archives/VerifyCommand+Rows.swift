import BatchCore
import BatchEngine

extension VerifyCommand {
  func show(_ findings: [VerifyJob.Finding]) throws(BatchError) {
    let rows = VerifyRows(showsWhole: common.verbose)
    for finding in findings {
      if let damage = finding.damage { session.found(finding.path, RunRecorder.text(of: damage)) }
      if let difference = finding.difference { session.found(finding.path, difference.kind.rawValue) }
    }
    if let events = session.events {
      for finding in findings {
        if finding.difference?.kind != .new {
          try events.write("member") { line in
            line.add(path: finding.path)
            line.add("outcome", finding.damage == nil ? "whole" : "damaged")
            line.add(finding.flags)
            if finding.mark == .superseded { line.add("superseded", true) }
            if finding.mark == .supersedes { line.add("supersedes", true) }
          }
        }
        guard let difference = finding.difference else { continue }
        try events.write("difference") { line in
          line.add(path: finding.path)
          rows.add(difference, to: &line)
        }
      }
      return
    }
    var bytes = [UInt8]()
    for finding in findings { rows.append(finding, to: &bytes) }
    if !bytes.isEmpty { try session.output.write(bytes) }
  }

  func summarize(
    _ counts: Counters.Snapshot, _ verification: Verification
  ) throws(BatchError) -> SummaryText {
    for text in verification.damage { session.fail(BatchError(.malformed, text, path: path)) }
    session.warn(of: path, verification.warnings)
    if let events = session.events {
      for fact in verification.facts { try events.write("note") { $0.add("message", fact) } }
      if let digest = verification.indexDigest {
        try events.write("index") { $0.add("sha256", digest.hex) }
      }
    } else if common.verbose || (!common.quiet && verification.indexDigest == nil) {
      // In an archive with an index everything is checked.
      for fact in verification.facts { session.diagnostics.report(fact, as: .note) }
      if let digest = verification.indexDigest {
        session.diagnostics.report("the SHA-256 of the index is \(digest.hex)", as: .note)
      }
    }
    let differences =
      directory == nil
      ? [] : Self.classes.map { (verification.count(of: $0), $0.rawValue) }
    let (damaged, changed) = (verification.damagedMembers, verification.changedMembers)
    return SummaryText(
      verb: "verified", files: max(0, counts.done - damaged), noun: "member", bytes: counts.byteCount,
      others: [(damaged, "damaged"), (changed, "changed while read")] + differences
        + [(counts.failed, "failed")],
      tallies: [(damaged, "damaged"), (changed, "changed_while_read")] + differences)
  }
}
