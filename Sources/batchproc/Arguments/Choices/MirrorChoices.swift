import BatchCore
import BatchEngine

/// The options of `mirror`, in addition to the common ones.
struct MirrorChoices: Sendable {
  let sources: [PathBytes]
  let target: PathBytes
  let options: MirroringOptions
  /// The manifest; nil for none.
  let output: PathBytes?
  let replacesOutput: Bool

  init(_ parsed: ParsedCommand, common: CommonOptions) throws(UsageError) {
    func fail(_ message: String) -> UsageError { UsageError(message, in: parsed.command) }
    guard parsed.operands.count > 1, let target = parsed.operands.last else {
      throw fail("Missing the target: the last path is the directory into which the others are copied.")
    }
    guard target != "-" else {
      throw fail("Standard output is no directory; './-' is the directory with that name.")
    }
    guard !parsed.operands.contains("-") else {
      throw fail("Standard input is no tree; './-' is the file with that name.")
    }
    if let remote = parsed.operands.first(where: BackupTarget.isRemote) {
      throw fail(
        "\(quote(remote)) is a place on another machine: mount it, and give the mounted directory. './' before it makes it a local name."
      )
    }
    self.target = target
    sources = Array(parsed.operands.dropLast())
    output = parsed.bytes(.output)
    if output == "-" { throw fail("The manifest needs a name: --output FILE.") }
    replacesOutput = parsed.flag(.force)
    var options = MirroringOptions()
    if parsed.flag(.update), parsed.flag(.ignoreExisting) {
      throw fail("--update cannot be used with --ignore-existing.")
    }
    options.keeping = parsed.flag(.ignoreExisting) ? .existing : parsed.flag(.update) ? .newer : .none
    options.comparesContent = parsed.flag(.checksum)
    options.makesDevices = parsed.flag(.devices)
    options.makesDigests = output != nil
    options.verifies = parsed.flag(.verify)
    if parsed.flag(.delete) {
      var removal = MirroringOptions.Removal()
      removal.mostFiles = parsed.count(.mostDeleted)
      removal.removesFiltered = parsed.flag(.deleteExcluded)
      options.removal = removal
    } else if parsed.count(.mostDeleted) != nil || parsed.flag(.deleteExcluded) {
      throw fail("--max-delete and --delete-excluded need --delete.")
    }
    options.linkSources = parsed.given.compactMap { option in
      if option.id == .linkDest, case .bytes(let path) = option.value { path } else { nil }
    }
    options.isSynced = common.fsync
    options.isDryRun = common.dryRun
    self.options = options
  }
}
