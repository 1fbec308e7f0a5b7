import BatchCore
import BatchEngine

extension ScheduleText {
  /// Creates the schedule from a command line of `schedule`.
  ///
  /// - Throws: `UsageError` for options that a schedule cannot contain, and for those that `backup` would refuse.
  init(
    _ parsed: ParsedCommand, program: PathBytes, environment: @escaping Environment
  ) throws(UsageError) {
    let own: Set<OptionID> = [.cron, .systemd, .startAt, .profile, .writeTo, .enable]
    let replacesFiles = parsed.bytes(.writeTo) != nil || parsed.flag(.enable)
    let given = CopyChoices.onOneLine(parsed).filter {
      // With --write, --force applies to the files of the schedule.
      !own.contains($0.id) && !(replacesFiles && $0.id == .force)
    }
    var words: [PathBytes] = []
    for option in given {
      words += try Self.words(of: option, in: parsed.command)
    }
    let profile = parsed.bytes(.profile)
    let sources = parsed.operands.map(WorkingFolder.absolute)
    let line = (profile.map { ["--profile", $0] } ?? []) + words
    let backup = try Self.backup(line + ["--"] + sources, in: parsed.command, environment)
    guard let target = backup.bytes(.target) else {
      throw UsageError("Missing expected option '--to <dir>'.", in: parsed.command)
    }
    guard !BackupTarget.isRemote(target) else {
      throw UsageError(
        """
        \(quote(target)) is a place on another machine, and backups are written to local directories; \
        '--copy-to' copies them elsewhere.
        """, in: parsed.command)
    }
    let rules: Set<OptionID> = [
      .keepLast, .keepHourly, .keepDaily, .keepWeekly, .keepMonthly, .keepYearly, .keepWithin,
    ]
    let hasRules = backup.given.contains { rules.contains($0.id) }
    let separator: [PathBytes] = sources.contains { $0.bytes.first == UInt8(ascii: "-") } ? ["--"] : []
    self.program = program
    arguments = line + (hasRules || profile != nil ? [] : Self.keep) + separator + sources
    self.sources = backup.operands.filter(\.isAbsolute)
    self.target = WorkingFolder.absolute(target)
    name = try BackupChoices.newName(backup)
    start = parsed.clock(.startAt) ?? 2 * 60 + 15
    let copies = try CopyChoices.all(backup).map(\.remote)
    let copyFolders = copies.filter { !BackupTarget.isRemote($0) }
    written =
      [backup.bytes(.metrics), backup.bytes(.report)].compactMap {
        $0.map { WorkingFolder.absolute($0).parent }
      }
      + copyFolders.map(WorkingFolder.absolute)
    hasHooks = [.before, .after, .onFailure].contains { backup.bytes($0) != nil }
    usesNetwork = copyFolders.count < copies.count || backup.bytes(.notify) != nil
    isReadable = ![.encryptTo, .encryptToFile].contains { id in backup.given.contains { $0.id == id } }
    keyArguments =
      backup.bytes(.passphraseFile).map { ["--passphrase-file", WorkingFolder.absolute($0)] } ?? []
    configuration = profile.flatMap { _ in Self.configurationFolder(environment) }
    let texts = arguments + keyArguments + self.sources + written + [self.target, program]
    guard texts.allSatisfy({ $0.text.map { !$0.contains(where: \.isNewline) } ?? false }) else {
      throw UsageError("Neither a crontab nor a unit can hold such a path.", in: parsed.command)
    }
  }

  /// An option in a form that works from any directory.
  private static func words(
    of option: ParsedCommand.GivenOption, in command: CommandSpec
  ) throws(UsageError) -> [PathBytes] {
    guard let spec = command.options.first(where: { $0.id == option.id }) else { return [] }
    guard let syntax = spec.syntax else { return [option.word(named: spec.long[0])] }
    var value = option.value.argument
    if [.file, .directory].contains(syntax), !(option.id == .copyTo && BackupTarget.isRemote(value)) {
      guard value != "-" else {
        throw UsageError("A schedule has no standard input for '--\(spec.long[0])'.", in: command)
      }
      // A remote target is not changed, and is refused with its own message.
      if !(option.id == .target && BackupTarget.isRemote(value)) { value = WorkingFolder.absolute(value) }
    }
    return value.bytes.first == UInt8(ascii: "-")
      ? [PathBytes(Array("--\(spec.long[0])=".utf8) + value.bytes)] : [PathBytes("--\(spec.long[0])"), value]
  }

  /// Parses the line as the run will.
  private static func backup(
    _ words: [PathBytes], in outer: CommandSpec, _ environment: @escaping Environment
  ) throws(UsageError) -> ParsedCommand {
    let parser = CommandLineParser(
      configuration: { () throws(UsageError) in try Configuration.read(environment: environment) },
      environment: { _ in nil })
    guard case .run(let parsed) = try parser.parse(["backup"] + words) else {
      throw UsageError("A schedule is for one backup.", in: outer)
    }
    return parsed
  }

  private static func configurationFolder(_ environment: Environment) -> PathBytes? {
    guard let folder = userFolder("XDG_CONFIG_HOME", or: ".config", environment) else { return nil }
    return StandardStreams.identity(of: folder.appending("batchproc/config".utf8)) == nil ? nil : folder
  }
}
