import BatchCore
import BatchEngine

struct VerifyCommand: Command {
  let path: PathBytes
  let directory: PathBytes?
  private var call: VerifyCall
  let keys: AgeKeys?
  let name: PathBytes?
  let patience: SetLock.Patience
  let share: ReadShare?
  /// Where this machine stores its state of encrypted sets.
  let state: StatePlace?
  let session: Session
  /// The differences that are counted, in the order of the summary.
  static let classes: [Difference.Class] = [.missing, .new, .type, .modified, .metadata, .touched]

  /// - Throws: `UsageError` for options that select files if no folder is compared.
  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    path = parsed.operands.first ?? "-"
    directory = parsed.bytes(.against)
    let keys = try EncryptionChoices.keys(parsed)
    name = parsed.bytes(.setName)
    patience = SetLock.Patience(limit: Double(parsed.duration(.lockWait) ?? 0))
    share = try Self.share(parsed)
    state = StateFile.place("manifests", environment: environment)
    let choosing = (CommandSpec.Group.choosing.options + CommandSpec.Group.events.options).map(\.id)
    if directory == nil, parsed.given.contains(where: { choosing.contains($0.id) }) {
      throw UsageError("Only --against looks at files that could be chosen.", in: parsed.command)
    }
    var read = ReadArchive(path)
    if parsed.flag(.allFormats) { read.foreignReader = "/proc/self/exe" }
    read.keys = keys
    call = VerifyCall(read)
    call.marksMembers = common.verbose || common.json
    call.inputs = read.foreignReader == nil ? 0 : ForeignReaderProgram.descriptors
    session = try Session(common, environment: environment, for: &call)
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
    if let error = SetHint.remote(path, to: .verify) { throw error }
    if let error = SetHint.file(path, in: session.context) {
      guard directory == nil, SetHint.isSet(path, in: session.context) else { throw error }
      return try verifySets()
    }
    if let error = SetHint.manifest(path) { throw error }
    guard share == nil, name == nil else {
      throw BatchError(.invalid, "--share and --name are for a directory of snapshots", path: path)
    }
    let ending = try verifyArchive()
    return directory == nil ? adviseRepair(of: path, after: ending) : ending
  }

  private func verifyArchive() throws(BatchError) -> Ending {
    if keys == nil, let ending = try verifyByCompanion() { return ending }
    var call = call
    if let directory { call.folder = (directory, try session.walkOptions(forAllBut: [])) }
    do throws(BatchError) {
      let outcome = try session.run(call, .items([])) { (findings) throws(BatchError) in
        try show(findings)
        session.advanced(findings.count)
      }
      return session.ending(outcome) { (verification) throws(BatchError) in
        try summarize(outcome.summary.counts, verification)
      }
    } catch {
      // A damaged header looks like a file for another recipient, and a wrong folder like missing members.
      let isDifference =
        error.code == .malformed || error.code == .unsupported && keys != nil
        || error.code == .invalid && directory != nil
      guard isDifference else { throw error }
      return session.difference(error)
    }
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
    let recorded = isArchive ? companion.archives.map(\.digest) : [companion.manifestDigest]
    guard recorded.contains(try BackupSet.digest(of: path, in: session.context)) else {
      return session.difference(
        BatchError(.malformed, "its digest differs from the companion of its snapshot", path: path))
    }
    if !common.quiet, !common.json {
      session.diagnostics.report(
        "\(TerminalText.string(path.bytes)): has the SHA-256 that its companion records; its content is verified with --identity",
        as: .note)
    }
    return .exit(.success)
  }
}
