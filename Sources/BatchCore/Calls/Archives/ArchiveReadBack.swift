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

  /// The digest of the index of an archive that is whole by its own index and checksums; nil for any other file.
  ///
  /// - Throws: the reason when the run was stopped.
  func wholeIndex(
    of opened: consuming Descriptor, _ path: PathBytes, _ keys: AgeKeys? = nil
  ) throws(BatchError) -> Digest? {
    do throws(BatchError) {
      let archive = try ArchiveFile(opened, path: path, keys: keys, in: SourceContext(run))
      let context = RunContext(sharing: run, stride: .automatic, observer: nil)
      let outcome = try VerifyCall(archive).perform(.items([]), in: context, watchedBy: Unwatched()) { _ in }
      guard outcome.summary.stopped == nil, outcome.failure == nil, let found = outcome.result,
        !found.isDifferent
      else { return nil }
      return found.indexDigest
    } catch {
      try run.cancellation.check()
      return nil
    }
  }

  /// The digest of the index of an archive, also of one whose members are damaged; nil for any other file.
  ///
  /// - Throws: the reason when the run was stopped.
  func index(
    of opened: consuming Descriptor, _ path: PathBytes, _ keys: AgeKeys? = nil
  ) throws(BatchError) -> Digest? {
    do throws(BatchError) {
      let archive = try ArchiveFile(opened, path: path, keys: keys, in: SourceContext(run))
      return try OpenArchive(archive, checks: true, memory: run.options.memory, by: run.reading).index?.index
        .digest
    } catch {
      try run.cancellation.check()
      return nil
    }
  }

  /// Verifies an archive that has an index.
  ///
  /// - Returns: the digest of its index; nil for any other file, and for one that cannot be read without a key.
  /// - Throws: `malformed` if it is damaged; the reason when the run was stopped.
  func provenIndex(
    of opened: consuming Descriptor, _ path: PathBytes, _ keys: AgeKeys? = nil
  ) throws(BatchError) -> Digest? {
    let digest: Digest?
    let damage: BatchError?
    do throws(BatchError) {
      let archive = try ArchiveFile(opened, path: path, keys: keys, in: SourceContext(run))
      let open = try OpenArchive(archive, checks: true, memory: run.options.memory, by: run.reading)
      digest = open.index?.index.digest
      damage = digest == nil ? nil : try self.damage(of: archive)
    } catch {
      try run.cancellation.check()
      return nil
    }
    guard let damage else { return digest }
    throw BatchError(
      .malformed, "cannot be repaired: what was rebuilt is damaged by its own index: \(damage.message)",
      path: path)
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
