import BatchCore
import BatchEngine

struct SubmitCommand {
  private let script: ShellText
  private let runs: Bool
  private let environmentPath: PathBytes

  init(_ parsed: ParsedCommand, kinds: CommandKinds, environment: @escaping Environment) throws {
    guard parsed.flag(.slurm) else {
      throw UsageError(
        "Missing expected option '--slurm': there is no other scheduler.", in: parsed.command)
    }
    guard let shards = parsed.count(.shards) else {
      throw UsageError("Missing expected option '--shards <n>'", in: parsed.command)
    }
    // Checked here, so that it is not refused by a job that runs much later.
    let planned = try PlannedCommand(parsed.operands, kinds, in: parsed.command, environment: environment)
    guard let name = parsed.operands.first else {
      throw UsageError("Missing the command.", in: parsed.command)
    }
    let folder = WorkingFolder.absolute(parsed.bytes(.planFolder) ?? "batchproc-plan")
    // The jobs would refuse it.
    if (try? folder.status(followingLinks: true)) != nil { _ = try PlanFolder(folder, calls: LinuxCalls()) }
    var plan = [PathBytes("plan"), "--shards", PathBytes(String(shards)), "--out", folder]
    if let fewest = parsed.size(.fewestShardBytes) {
      plan += ["--min-shard-bytes", PathBytes(String(fewest))]
    }
    // The output of a job is a log, in which rows would stand between warnings.
    var output = planned.parsed.bytes(.output)
    let call = try planned.command.makeCall(
      planned.parsed, common: CommonOptions(planned.parsed), environment: environment)
    if let division = call.division, output == nil || output == "-" {
      switch division.join {
      case .receipts, .mirror: output = nil
      case .rows, .archive: output = folder.appending("result".utf8)
      }
    }
    let program = (try? ProcessArguments.program(environment: environment)) ?? "batchproc"
    script =
      SlurmScript(
        program: program, workingFolder: WorkingFolder.path, folder: folder, shards: shards,
        plan: plan + ["--"] + parsed.operands, command: name, output: output,
        options: parsed.given.compactMap { option in
          if option.id == .sbatch, case .bytes(let value) = option.value { value } else { nil }
        }, waits: parsed.flag(.wait)
      ).text
    runs = parsed.flag(.submitNow)
    environmentPath = environment("PATH") ?? "/usr/bin:/bin"
    if parsed.flag(.wait), !runs { throw UsageError("--wait needs --run.", in: parsed.command) }
  }

  /// - Throws: when standard output cannot be written, and when there is no Slurm to submit to.
  func execute() throws(BatchError) -> Ending {
    guard runs else {
      let output = StandardOutput(cancellation: Cancellation())
      try output.write(script.bytes)
      try output.finish()
      return .exit(.success)
    }
    let folders = environmentPath.bytes.split(separator: UInt8(ascii: ":"))
    guard
      folders.contains(where: {
        (try? PathBytes($0).appending("sbatch".utf8).status(followingLinks: true)) != nil
      })
    else {
      throw BatchError(
        .missing, "sbatch is not installed, so that nothing can be submitted to Slurm",
        remedy: "install the package slurm-client, or print the script without --run")
    }
    switch try Hook(PathBytes(script.bytes), limit: 1e9).run() {
    case .exit(let status): return .exit(ExitStatus(rawValue: status) ?? .fatal)
    case .signal(let number): return .signal(number)
    case .timeout: return .exit(.fatal)
    }
  }
}
