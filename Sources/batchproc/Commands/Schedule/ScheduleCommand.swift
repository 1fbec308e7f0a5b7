import BatchCore
import BatchEngine
import BatchOutputs

struct ScheduleCommand: Command {
  private static let unitFolder: PathBytes = "/etc/systemd/system"
  private static let cronFolder: PathBytes = "/etc/cron.d"
  /// The time limit for systemd in seconds.
  private static let patience = 60.0

  private let schedule: ScheduleText
  private let isForCron: Bool
  /// Nil if the files are printed.
  private let folder: PathBytes?
  private let isEnabling: Bool
  private let isReplacing: Bool
  let session: Session

  /// - Throws: `UsageError` when neither cron nor systemd is chosen; `unreadable` if `/proc` does not name the program.
  init(_ parsed: ParsedCommand, environment: @escaping Environment) throws {
    switch (parsed.flag(.cron), parsed.flag(.systemd)) {
    case (true, false): isForCron = true
    case (false, true): isForCron = false
    default: throw UsageError("Please give either --cron or --systemd.", in: parsed.command)
    }
    schedule = try ScheduleText(
      parsed, program: try ProcessArguments.program(environment: environment), environment: environment)
    guard isForCron || schedule.isExecutable else {
      throw UsageError(
        "systemd starts no program whose path has quotes or a backslash.", in: parsed.command)
    }
    isEnabling = parsed.flag(.enable)
    folder = parsed.bytes(.writeTo) ?? (isEnabling ? isForCron ? Self.cronFolder : Self.unitFolder : nil)
    if isEnabling, isForCron, let folder, folder != Self.cronFolder {
      throw UsageError("cron reads /etc/cron.d alone: --enable has no effect elsewhere.", in: parsed.command)
    }
    isReplacing = parsed.flag(.force)
    // The options are for the backup, not for this command.
    session = try Session(
      CommonOptions(ParsedCommand(command: parsed.command, given: [], operands: [])),
      environment: environment)
  }

  func run() throws(BatchError) -> Ending {
    let files = isForCron ? [schedule.cron] : schedule.units
    guard let folder else {
      try session.output.write(Array(files.map(\.text).joined(separator: "\n").utf8))
      try session.output.finish()
      return .exit(.success)
    }
    let written = try write(files, to: folder)
    for path in written { try session.output.write(path.bytes + Array("\n".utf8)) }
    try session.output.finish()
    if isEnabling, !isForCron { try enable(in: folder, files) }
    return .exit(.success)
  }

  /// Writes all files or, when one of the names is taken, none; a file that already has the content is left.
  ///
  /// - Returns: the files that were written.
  private func write(_ files: [ScheduleText.File], to folder: PathBytes) throws(BatchError) -> [PathBytes] {
    try FolderMaker(calls: session.context.calls).makeLast(folder)
    var open: [(path: PathBytes, file: OutputFile)] = []
    do throws(BatchError) {
      for file in files {
        let path = folder.appending(file.name.utf8)
        let text = Array(file.text.utf8)
        if (try? SmallFile.readRegular(path)) == text { continue }
        let output = try OutputFile(path, isReplacing: isReplacing, isSynced: true, in: session.context)
        open.append((path, output))
        try output.write(text)
      }
      for output in open { try output.file.finish() }
    } catch {
      for output in open { output.file.discard() }
      throw error
    }
    return open.map(\.path)
  }

  /// - Throws: `unwritable` when systemd fails.
  private func enable(in folder: PathBytes, _ files: [ScheduleText.File]) throws(BatchError) {
    let folder = WorkingFolder.absolute(folder)
    let link =
      folder == Self.unitFolder
      ? "systemctl daemon-reload"
      : (["systemctl", "link"] + files.map { ShellWord.quoted(folder.appending($0.name.utf8)) })
        .joined(separator: " ")
    let timers = schedule.timers.map { ShellWord.quoted(PathBytes($0)) }.joined(separator: " ")
    let hook = Hook(
      PathBytes("\(link) && exec systemctl enable --now \(timers)"), limit: Self.patience)
    guard try hook.run() == .exit(0) else {
      throw BatchError(
        .unwritable, "the files are written, but systemctl could not enable the timers", path: folder)
    }
  }
}
