import BatchCore

extension ParityOptions {
  /// The recovery data that `--parity` and `--parity-blocks` ask for; nil without them. Only the command line must not have both.
  init?(_ parsed: ParsedCommand) throws(UsageError) {
    guard !parsed.typed.isSuperset(of: [.parity, .parityBlocks]) else {
      throw UsageError("--parity cannot be used with --parity-blocks.", in: parsed.command)
    }
    if let count = parsed.count(.parityBlocks) {
      self.init(.blocks(count))
    } else if let share = parsed.share(.parity) {
      self.init(.share(share))
    } else {
      return nil
    }
  }
}

extension OptionSpec {
  /// For commands that write archives.
  static let parity: [OptionSpec] = [
    OptionSpec(
      .parity, "parity", kind: .single(.redundancy), value: "percent",
      help: """
        Also write recovery data in the format of PAR2, FILE.par2 and FILE.vol000+100.par2, with this percentage of the blocks of \
        the archive: 5%, or more than 100%. 'batchproc repair' and 'par2' repair the archive by them.
        """
    ).inPlans(.refused),
    OptionSpec(
      .parityBlocks, "parity-blocks", kind: .single(.number(1...ParityPacket.mostRecoveryBlocks)), value: "n",
      help:
        "The same as --parity, with a number of recovery blocks; the archive has about 2,000 blocks of 4K or more."
    ).inPlans(.refused),
  ]

  /// For copies.
  static let copyParity: [OptionSpec] = [
    OptionSpec(
      .parity, "parity", kind: .single(.redundancy), value: "percent",
      help: """
        Write recovery data in the format of PAR2 beside the copies that have none, with this percentage of their blocks. The remote \
        must be a directory.
        """),
    OptionSpec(
      .parityBlocks, "parity-blocks", kind: .single(.number(1...ParityPacket.mostRecoveryBlocks)), value: "n",
      help: "The same as --parity, with a number of recovery blocks for each archive."),
  ]
}
