import BatchCore
import BatchEngine

/// `batchproc schedule`.
struct ScheduleCommand: Command {
  private let text: String
  let session: Session

  /// - Throws: `UsageError` when it is not said what for; `unreadable` where `/proc` does not name the program.
  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: (String) -> PathBytes?
  ) throws {
    guard let target = parsed.bytes(.target) else {
      throw UsageError("Missing expected option '--to <dir>'.", in: parsed.command)
    }
    let program = try ProcessArguments.program()
    let name = try BackupChoices.newName(parsed)
    let paths = parsed.operands + [target, program]
    guard paths.allSatisfy({ $0.text.map { !$0.contains(where: \.isNewline) } ?? false }) else {
      throw UsageError("Neither a crontab nor a unit can hold such a path.", in: parsed.command)
    }
    let schedule = ScheduleText(
      program: program, sources: parsed.operands.map(WorkingFolder.absolute),
      target: WorkingFolder.absolute(target), name: name)
    switch (parsed.flag(.cron), parsed.flag(.systemd)) {
    case (true, false): text = schedule.cron
    case (false, true):
      guard schedule.isExecutable else {
        throw UsageError(
          "systemd starts no program whose path has quotes or a backslash.", in: parsed.command)
      }
      text = schedule.service + "\n" + schedule.timer
    default: throw UsageError("Please give either --cron or --systemd.", in: parsed.command)
    }
    session = try Session(common, environment: environment)
  }

  func run() throws(BatchError) -> Ending {
    try session.output.write(Array(text.utf8))
    try session.output.finish()
    return .exit(.success)
  }
}
