extension CommandSpec {
  static let report = CommandSpec(
    id: .report,
    abstract: "Write an HTML report of the backup sets in a directory.",
    discussion: [
      """
      The page shows, for every set, the history of its snapshots, what is verified, what drills found, and the \
      sizes over time. It needs no other file and runs no script. An archive that is missing or whose size has \
      changed, and a manifest that is not valid, are named, and the status is 4. For the report of a run see \
      --report of the other commands.
      """
    ],
    operands: [Operand(name: "directory", repeats: false, help: "The directory of the snapshots.")],
    own: [
      OptionSpec(
        .output, "output", short: "o", kind: .single(.file), value: "file", default: "-",
        help: "Write the page to a file that appears when it is complete; - is standard output."),
      OptionSpec(.force, "force", help: "Replace the output if it exists.").inPlans(.chosenByShard),
      .setName(help: "The set. The default is all sets."),
    ],
    shared: [Group.syncing, Group.messages, Group.general],
    examples: [
      Example(
        command: "batchproc report --force -o /var/www/backups.html /mnt/backups",
        meaning: "From cron: a page about all snapshots, and whether they can be restored.")
    ])
}

extension CommandSpec.Group {
  /// Options about messages only.
  static let messages = CommandSpec.Group(
    title: reporting.title, options: reporting.options.filter { [.quiet, .verbose, .color].contains($0.id) })
}
