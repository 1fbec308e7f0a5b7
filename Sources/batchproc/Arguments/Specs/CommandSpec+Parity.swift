import BatchCore

extension CommandSpec {
  static let parity = CommandSpec(
    id: .parity,
    abstract: "Make recovery data for files, and repair damaged files by them.",
    discussion: [
      """
      The format is PAR2 2.0, which 'par2' reads and writes too. 'create' writes an index, FILE.par2, and recovery blocks, \
      FILE.vol000+100.par2, beside the first file, or under the first name if it ends in .par2. Any damaged blocks can be \
      rebuilt, as many as there are recovery blocks. Empty files, and files of PAR2, are left out.
      """,
      """
      'verify' compares files with their recovery data, and says whether they can be repaired; damage ends with 4. 'repair' \
      rebuilds damaged and missing files, compares all checksums, and then replaces the damaged file, which is kept as \
      FILE.damaged without --force. If too few blocks are left, nothing is changed, and it ends with 4. For both the path is a \
      protected file or a file of PAR2, and further files are searched for blocks. 'c', 'v' and 'r' stand for the three words.
      """,
    ],
    operands: [
      Operand(name: "action", repeats: false, help: "create, verify or repair."),
      Operand(
        name: "path", repeats: true, help: "Files; directories only for create.", isOptional: true),
    ],
    own: [
      OptionSpec(
        .parity, "parity", short: "r", kind: .single(.redundancy), value: "percent", default: "5%",
        help:
          "For create: how many recovery blocks there are, as a percentage of the blocks; more than 100% is allowed."
      ),
      OptionSpec(
        .parityBlocks, "parity-blocks", short: "c",
        kind: .single(.number(1...ParityPacket.mostRecoveryBlocks)),
        value: "n", help: "For create: the number of recovery blocks."),
      OptionSpec(
        .blockSize, "block-size", short: "s", kind: .single(.size(minimum: 4)), value: "size",
        help: """
          For create: bytes of a block, a multiple of 4. The default is 4K or more, so that there are about 2,000 blocks. There are \
          at most 32,768.
          """),
      OptionSpec(
        .blockCount, "block-count", short: "b", kind: .single(.number(1...ParityPacket.mostBlocks)),
        value: "n",
        help: "For create: the most blocks, in place of 2,000."),
      OptionSpec(
        .volumes, "volumes", short: "n", kind: .single(.number(1...64)), value: "n", default: "1",
        help: "For create: divide the recovery blocks among this many files."),
      OptionSpec(
        .base, "base", short: "B", kind: .single(.directory), value: "dir",
        help:
          "Look up the names of the files in this directory. The default is the directory of the recovery data."
      ),
      OptionSpec(
        .force, "force",
        help: "For create: replace files that exist. For repair: do not keep the damaged file."),
    ],
    shared: [Group.scheduling, Group.selection, Group.syncing, Group.reporting, Group.general],
    examples: [
      Example(
        command: "batchproc parity create --parity 10% film.mkv", meaning: "Make recovery data of 10 %."),
      Example(command: "batchproc parity repair film.mkv", meaning: "Repair the file by them."),
    ])

  static let repair = CommandSpec(
    id: .repair,
    abstract: "Repair archives and sets of snapshots by their recovery data.",
    discussion: [
      """
      A path is an archive, or any other file, that has recovery data in the format of PAR2 beside it, or a directory of \
      snapshots. Of a set, each archive and each manifest that has recovery data is compared with them, damaged ones are \
      repaired, and missing ones are rebuilt if there are enough recovery blocks. Damaged recovery data of whole files are made \
      again. That needs no key.
      """,
      """
      What was rebuilt must have all checksums of the recovery data. An archive must also be whole by its own index, and be \
      the one that its manifest or companion records. Then it replaces the damaged file, which is kept as FILE.damaged without --force; \
      'snapshots' names such files, and 'prune' removes them. If too few blocks are left, nothing is changed, and the status \
      is 4. An archive without damage that differs from the recovery data is another version: 'repair' does not change it, and \
      the status is 1, or 3 if other files were repaired.
      """,
    ],
    operands: [
      Operand(name: "path", repeats: true, help: "Archives, other files, and directories of snapshots.")
    ],
    own: [
      .setName(help: "The set. The default is all sets of the directory."),
      OptionSpec(.force, "force", help: "Do not keep damaged files."),
      .lockWait,
    ],
    shared: [Group.scheduling, Group.syncing, Group.reporting, Group.general],
    examples: [
      Example(command: "batchproc repair /mnt/backups", meaning: "Repair all sets of a directory."),
      Example(command: "batchproc repair home.tar.zst", meaning: "Repair an archive."),
    ])
}
