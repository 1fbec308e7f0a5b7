import BatchEngine
import BatchOutputs

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
