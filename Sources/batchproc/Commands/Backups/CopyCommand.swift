import BatchCore
import BatchEngine

struct CopyCommand: Command {
  private let choices: BackupChoices
  private let copying: CopyChoices
  /// Where this machine stores its state of encrypted sets.
  private let state: StatePlace?
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    guard parsed.operands.count == 2 else {
      throw UsageError(
        "Missing expected argument '<remote>': where the snapshots are copied to.", in: parsed.command)
    }
    choices = try BackupChoices(parsed, directory: parsed.operands[0])
    var copying = CopyChoices(
      parsed, remote: parsed.operands[1], comparesContents: parsed.flag(.checksum))
    copying.parity = try ParityOptions(parsed)
    if copying.parity != nil, BackupTarget.isRemote(copying.remote) {
      throw UsageError("--parity needs a directory: the files of a remote are not read.", in: parsed.command)
    }
    self.copying = copying
    state = StateFile.place("manifests", environment: environment)
    session = try Session(common, environment: environment)
  }

  func run() throws(BatchError) -> Ending {
    if let error = SetHint.remote(choices.directory, to: .copy) { throw error }
    let set = try choices.set(session, state: state)
    let lock = try set.lockForReading(choices.patience, in: session.context)
    defer { withExtendedLifetime(lock) {} }
    let (text, verdict) = try copying.copy(set, session)
    try session.output.finish()
    if let events = session.events {
      try events.writeSummary { $0.add("message", text) }
    } else if !common.quiet {
      session.diagnostics.print(text)
    }
    return .exit(ExitStatus(verdict))
  }
}
