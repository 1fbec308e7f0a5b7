import BatchCore
import BatchEngine
import Synchronization

/// Reads an archive that has no name yet, and compares it with what went into it.
struct ArchiveReadBack {
  let session: Session

  /// - Returns: how many members were compared.
  /// - Throws: `unwritable` when the archive is not what it has to be, each difference having been told; the
  ///   reason when the run was stopped.
  func compare(_ output: OutputFile, with written: WrittenArchive) throws(BatchError) -> Int {
    let archive = try ArchiveFile(
      output, isSynced: session.common.fsync, cancellation: session.cancellation)
    let verification = Verification()
    let source: VerifySource
    do throws(BatchError) {
      source = try VerifySource(archive, madeOf: written, verification)
    } catch {
      throw Self.failure(archive, error)
    }
    let context = RunContext(sharing: session.context, stride: .automatic, observer: nil)
    let found = Mutex([BatchError]())
    let job = VerifyJob(verification) { (findings) throws(BatchError) in
      found.withLock { all in all += findings.compactMap { $0.damage?.at($0.path) } }
    }
    let summary = BatchRunner(context).run(LegacyJob(job), over: source).summary
    if let reason = summary.stopped {
      guard reason.code != .cancelled else { throw reason }
      throw Self.failure(archive, reason)
    }
    let damage =
      found.withLock { $0 } + verification.damage.map { BatchError(.malformed, $0, path: archive.path) }
    guard damage.isEmpty else {
      for error in damage { session.reporter.met(Problem(.unreadable, error), severity: .failure) }
      throw Self.failure(archive, nil)
    }
    return summary.counts.done
  }

  private static func failure(_ archive: ArchiveFile, _ reason: BatchError?) -> BatchError {
    let text = "what was read back is not what was archived, and there is no archive"
    return BatchError(
      .unwritable, reason.map { "\(text): \($0.message)" } ?? text, path: archive.path,
      errno: reason?.errno ?? 0)
  }
}
