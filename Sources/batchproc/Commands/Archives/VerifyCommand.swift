import BatchCore
import BatchEngine

struct VerifyCommand: Command {
  let path: PathBytes
  private let directory: PathBytes?
  private let readsAllFormats: Bool
  let keys: AgeKeys?
  let name: PathBytes?
  let patience: SetLock.Patience
  let share: ReadShare?
  /// Where this machine stores its state of encrypted sets.
  let state: PathBytes?
  let session: Session
  /// The differences that are counted, in the order of the summary.
  private static let classes: [Difference.Class] = [.missing, .new, .type, .modified, .metadata, .touched]

  /// - Throws: `UsageError` for options that select files if no folder is compared.
  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    path = parsed.operands.first ?? "-"
    directory = parsed.bytes(.against)
    readsAllFormats = parsed.flag(.allFormats)
    let keys = try EncryptionChoices.keys(parsed)
    name = parsed.bytes(.setName)
    patience = SetLock.Patience(limit: Double(parsed.duration(.lockWait) ?? 0))
    share = try Self.share(parsed)
    state = StateFile.path("manifests", environment: environment)
    let choosing = (CommandSpec.Group.choosing.options + CommandSpec.Group.events.options).map(\.id)
    if directory == nil, parsed.given.contains(where: { choosing.contains($0.id) }) {
      throw UsageError("Only --against looks at files that could be chosen.", in: parsed.command)
    }
    session = try Session(
      common, environment: environment, inputs: readsAllFormats ? ForeignReaderProgram.descriptors : 0)
    self.keys = session.keys(keys)
  }

  private static func share(_ parsed: ParsedCommand) throws(UsageError) -> ReadShare? {
    guard let text = parsed.bytes(.share) else { return nil }
    let parts = text.bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let words = parts.map { String(decoding: $0, as: UTF8.self) }
    let day = Int(clamping: FileStatus.Time.now.seconds / 86_400)
    guard words.count == 2, let count = Int(words[1]), count > 0,
      let number = words[0] == "today" ? day % count + 1 : Int(words[0]),
      let share = ReadShare(number, of: count)
    else {
      throw UsageError(
        "The value of '--share' is not a share. Please give the number of a part and how many there are, such as 1/30, or today/30.",
        in: parsed.command)
    }
    return share
  }

  func run() throws(BatchError) -> Ending {
    if let error = SetHint.file(path, in: session.context) {
      guard directory == nil, SetHint.isSet(path, in: session.context) else { throw error }
      return try verifySets()
    }
    guard share == nil, name == nil else {
      throw BatchError(.invalid, "--share and --name are for a directory of snapshots", path: path)
    }
    if keys == nil, let ending = try verifyByCompanion() { return ending }
    let memory = session.context.options.memory
    let archive: ArchiveFile
    do throws(BatchError) {
      archive = try ArchiveFile(
        path, foreignReader: session.foreignReader(readsAllFormats), keys: keys,
        in: SourceContext(session.context))
    } catch {
      // A damaged header looks like a file for another recipient.
      guard error.code == .unsupported, keys != nil else { return try session.ending(ofDamaged: error) }
      return session.difference(error)
    }
    let live = try liveTree(excluding: archive)
    if let directory,
      let error = try archive.wrongFolder(directory, memory: memory, by: session.context.reading)
    {
      return session.difference(error)
    }
    let reader: VerifyReader
    do throws(BatchError) {
      reader = try VerifyReader(
        archive, live: live, memory: memory, marks: common.verbose || common.json, by: session.context.reading
      )
    } catch {
      return try session.ending(ofDamaged: error)
    }
    let job = VerifyJob(live: live) { (findings) throws(BatchError) in
      try show(findings)
      session.advanced(findings.count)
    }
    let total = reader.total
    let outcome = session.run(job, reading: reader, total: total)
    if let ending = session.endingBeforeSummary(outcome.summary) { return ending }
    guard let verification = outcome.result else { return .exit(.fatal) }
    return finish(outcome.summary, verification)
  }

  /// Compares a file of an encrypted snapshot with the digest in its companion.
  ///
  /// - Returns: nil for other files.
  private func verifyByCompanion() throws(BatchError) -> Ending? {
    guard directory == nil, let name = SnapshotName.of(path), name.isEncrypted else { return nil }
    let companion: Companion
    do throws(BatchError) {
      companion = try Companion.read(path.parent.appending(name.companion.bytes))
    } catch {
      guard error.code == .malformed else { return nil }
      return session.difference(error)
    }
    let isArchive = name.archive.bytes.elementsEqual(path.lastComponent)
    let recorded = isArchive ? companion.archiveDigest : companion.manifestDigest
    guard try BackupSet.digest(of: path, in: session.context) == recorded else {
      return session.difference(
        BatchError(.malformed, "its digest is not the one in the companion of its snapshot", path: path))
    }
    if !common.quiet, !common.json {
      session.diagnostics.report(
        "\(TerminalText.string(path.bytes)): has the SHA-256 that its companion records; its content is verified with --identity",
        as: .note)
    }
    return .exit(.success)
  }

  private func liveTree(excluding archive: ArchiveFile) throws(BatchError) -> LiveTree? {
    guard let directory else { return nil }
    return try LiveTree(
      directory, options: session.walkOptions(forAllBut: [archive.identity]),
      in: SourceContext(session.context))
  }

  private func show(_ findings: [VerifyJob.Finding]) throws(BatchError) {
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

  private func finish(_ summary: RunSummary, _ verification: Verification) -> Ending {
    for text in verification.damage { session.fail(BatchError(.malformed, text, path: path)) }
    session.warn(of: path, verification.warnings)
    if let events = session.events {
      do throws(BatchError) {
        for fact in verification.facts { try events.write("note") { $0.add("message", fact) } }
        if let digest = verification.indexDigest {
          try events.write("index") { $0.add("sha256", digest.hex) }
        }
      } catch {
        return session.ending(after: error)
      }
    } else if common.verbose || (!common.quiet && verification.indexDigest == nil) {
      // In an archive with an index everything is checked.
      for fact in verification.facts { session.diagnostics.report(fact, as: .note) }
      if let digest = verification.indexDigest {
        session.diagnostics.report("the SHA-256 of the index is \(digest.hex)", as: .note)
      }
    }
    let counts = summary.counts
    let differences =
      directory == nil
      ? [] : Self.classes.map { (verification.count(of: $0), $0.rawValue) }
    let (damaged, changed) = (verification.damagedMembers, verification.changedMembers)
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "verified", files: max(0, counts.done - damaged), noun: "member", bytes: counts.byteCount,
        others: [(damaged, "damaged"), (changed, "changed while read")] + differences
          + [(counts.failed, "failed")],
        tallies: [(damaged, "damaged"), (changed, "changed_while_read")] + differences))
    if verification.isDifferent { return .exit(.differences) }
    if counts.failed > 0, counts.done == 0 { return .exit(.fatal) }
    return .exit(counts.failed > 0 || verification.incompleteMembers > 0 ? .someFailed : .success)
  }
}
