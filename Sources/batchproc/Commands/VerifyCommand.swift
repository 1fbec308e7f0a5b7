import BatchCore
import Synchronization

/// `batchproc verify`.
struct VerifyCommand {
  private let path: PathBytes
  private let common: CommonOptions
  private let session: Session

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: (String) -> PathBytes?
  ) throws(BatchError) {
    path = parsed.operands.first ?? "-"
    self.common = common
    session = try Session(common, environment: environment)
  }

  /// - Throws: what ends the run before it begins.
  func run() throws(BatchError) -> Ending {
    let archive = try ArchiveFile(path, cancellation: session.cancellation)
    let verification = Verification()
    let source: VerifySource
    do throws(BatchError) {
      source = try VerifySource(archive, verification)
    } catch {
      // Not to be an archive at all is the greatest difference there is.
      guard error.code == .malformed else { throw error }
      session.reporter.fatal(error)
      return .exit(.differences)
    }
    let hit = Mutex(0)
    let job = VerifyJob(verification) { (findings) throws(BatchError) in
      hit.withLock { count in count += findings.count { $0.damage != nil } }
      try tell(findings)
      session.advanced(findings.count)
    }
    let summary = session.run(job, over: source)
    if let ending = session.endingOfStopped(summary) { return ending }
    do throws(BatchError) {
      try session.output.finish()
    } catch {
      session.reporter.fatal(error)
      return .exit(.outputIncomplete)
    }
    return finish(summary, verification, hit: hit.withLock { $0 })
  }

  private func tell(_ findings: [VerifyJob.Finding]) throws(BatchError) {
    if let events = session.reporter as? JSONReporter {
      for finding in findings {
        try events.write("member") { line in
          line.add(path: finding.path)
          line.add("outcome", finding.damage == nil ? "whole" : "damaged")
        }
      }
      return
    }
    var rows = [UInt8]()
    for finding in findings where finding.damage != nil || common.verbose {
      TerminalText.append(finding.path.bytes, to: &rows)
      rows += (finding.damage == nil ? ": OK\n" : ": DAMAGED\n").utf8
    }
    if !rows.isEmpty { try session.output.write(rows) }
  }

  private func finish(_ summary: RunSummary, _ verification: Verification, hit: Int) -> Ending {
    for text in verification.damage {
      session.reporter.met(
        Problem(.unreadable, BatchError(.malformed, text, path: path)), severity: .failure)
    }
    if let events = session.reporter as? JSONReporter {
      do throws(BatchError) {
        for fact in verification.facts { try events.write("note") { $0.add("message", fact) } }
        if let digest = verification.indexDigest {
          try events.write("index") { $0.add("sha256", digest.hex) }
        }
      } catch {
        return .exit(.outputIncomplete)
      }
    } else if !common.quiet {
      for fact in verification.facts { session.diagnostics.report(fact, as: .note) }
      if let digest = verification.indexDigest {
        session.diagnostics.report("the SHA-256 of the index is \(digest.hex)", as: .note)
      }
    }
    let counts = summary.counts
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "verified", files: counts.done, bytes: counts.byteCount, elapsed: summary.elapsed / .seconds(1),
        others: [(hit, "damaged")], tallies: [(hit, "damaged")]))
    return .exit(hit > 0 || !verification.damage.isEmpty ? .differences : .success)
  }
}
