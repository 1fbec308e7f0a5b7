import BatchEngine
import BatchOutputs
import Synchronization

/// Reads an unfinished archive back, and compares it with the data that was written.
package struct ArchiveReadBack {
  private let isSynced: Bool
  private let run: RunContext

  /// - Parameter run: reports each difference.
  package init(isSynced: Bool, run: RunContext) {
    (self.isSynced, self.run) = (isSynced, run)
  }

  /// - Parameter encryption: the encryption of the archive; nil if it is not encrypted.
  /// - Returns: how many members were compared.
  /// - Throws: `unwritable` when the archive differs; each difference was reported; the reason when the run was stopped.
  package func compare(
    _ output: OutputFile, _ encryption: EncryptedOutput?, with written: WrittenArchive
  ) throws(BatchError) -> Int {
    let archive: ArchiveFile
    do throws(BatchError) {
      archive = try ArchiveFile(
        output, isSynced: isSynced, encryption: encryption, in: SourceContext(run))
    } catch {
      guard error.code == .malformed else { throw error }
      throw Self.failure(output.path, error)
    }
    let context = RunContext(sharing: run, stride: .automatic, observer: nil)
    let outcome: CallOutcome<Verification>
    do throws(BatchError) {
      outcome = try VerifyCall(archive, madeOf: written).perform(
        .items([]), in: context, watchedBy: Unwatched()
      ) { findings in
        for finding in findings { if let damage = finding.damage { report(damage.at(finding.path)) } }
      }
    } catch {
      throw Self.failure(archive.path, error)
    }
    guard let verification = outcome.result else {
      guard let reason = outcome.summary.stopped, reason.code == .cancelled else {
        throw Self.failure(archive.path, outcome.summary.stopped)
      }
      throw reason
    }
    for text in verification.damage { report(BatchError(.malformed, text, path: archive.path)) }
    guard !verification.isDifferent else { throw Self.failure(archive.path, nil) }
    return outcome.summary.counts.done
  }

  /// Decodes an unfinished archive, and compares all its checksums and its index with its content.
  ///
  /// - Returns: the first damage; nil if it is whole.
  /// - Throws: the error of reading; the reason when the run was stopped.
  package func damage(of archive: ArchiveFile) throws(BatchError) -> BatchError? {
    let context = RunContext(sharing: run, stride: .automatic, observer: nil)
    let found = Mutex<BatchError?>(nil)
    let outcome = try VerifyCall(archive).perform(.items([]), in: context, watchedBy: Unwatched()) {
      findings in
      guard let finding = findings.first(where: { $0.damage != nil }) else { return }
      found.withLock { $0 = $0 ?? finding.damage?.at(finding.path) }
    }
    if let stopped = outcome.summary.stopped ?? outcome.failure { throw stopped }
    if let damage = found.withLock({ $0 }) { return damage }
    guard let verification = outcome.result, !verification.isDifferent else {
      return BatchError(.malformed, outcome.result?.damage.first ?? "it cannot be read back")
    }
    return nil
  }

  private func report(_ damage: BatchError) {
    run.report(Problem(.unreadable, damage), severity: .failure)
  }

  private static func failure(_ path: PathBytes, _ reason: BatchError?) -> BatchError {
    let text = "the archive that was read back differs from the archived data; no archive was made"
    return BatchError(
      .unwritable, reason.map { "\(text): \($0.message)" } ?? text, path: path,
      errno: reason?.errno ?? 0)
  }
}
