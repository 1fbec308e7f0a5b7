import BatchCore
import BatchEngine
import BatchOutputs

/// Reads an unfinished archive back, and compares it with the data that was written.
struct ArchiveReadBack {
  let session: Session

  /// - Parameter encryption: the encryption of the archive; nil if it is not encrypted.
  /// - Returns: how many members were compared.
  /// - Throws: `unwritable` when the archive differs; each difference was reported; the reason when the run was stopped.
  func compare(
    _ output: OutputFile, _ encryption: EncryptedOutput?, with written: WrittenArchive
  ) throws(BatchError) -> Int {
    let archive: ArchiveFile
    do throws(BatchError) {
      archive = try ArchiveFile(
        output, isSynced: session.common.fsync, encryption: encryption, in: SourceContext(session.context))
    } catch {
      guard error.code == .malformed else { throw error }
      throw Self.failure(output.path, error)
    }
    let reader: VerifyReader
    do throws(BatchError) {
      reader = try VerifyReader(archive, madeOf: written, by: session.context.reading)
    } catch {
      throw Self.failure(archive.path, error)
    }
    let context = RunContext(sharing: session.context, stride: .automatic, observer: nil)
    let job = VerifyJob { (findings) throws(BatchError) in
      for finding in findings { if let damage = finding.damage { session.fail(damage.at(finding.path)) } }
    }
    let outcome = BatchRunner(context).run(job, reading: reader)
    guard let verification = outcome.result else {
      guard let reason = outcome.summary.stopped, reason.code == .cancelled else {
        throw Self.failure(archive.path, outcome.summary.stopped)
      }
      throw reason
    }
    for text in verification.damage { session.fail(BatchError(.malformed, text, path: archive.path)) }
    guard !verification.isDifferent else { throw Self.failure(archive.path, nil) }
    return outcome.summary.counts.done
  }

  private static func failure(_ path: PathBytes, _ reason: BatchError?) -> BatchError {
    let text = "the archive that was read back differs from the archived data; no archive was made"
    return BatchError(
      .unwritable, reason.map { "\(text): \($0.message)" } ?? text, path: path,
      errno: reason?.errno ?? 0)
  }
}
