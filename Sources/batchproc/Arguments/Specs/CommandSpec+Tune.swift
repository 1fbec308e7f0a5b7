extension CommandSpec {
  static let tune = CommandSpec(
    id: .tune,
    abstract: "Measure which concurrency is fastest for a tree, and recommend it.",
    discussion: [
      """
      Runs the real job on a sample of the tree, in turns with several numbers of operations and of files per \
      operation, until it is clear how much equal runs differ. Nothing is changed in the tree: archives are not \
      kept, and compressed files are made in a temporary directory and removed.
      """,
      """
      Where the kernel allows it, the sample is dropped from the page cache before each run (cold). Elsewhere it \
      stays in memory (warm). The table says which.
      """,
    ],
    operands: [Operand(name: "dir", repeats: false, help: "The directory to measure with.")],
    own: [
      OptionSpec(
        .job, "job", kind: .single(.choice(TuneJob.allCases.map(\.rawValue))), value: "job",
        default: TuneJob.hash.rawValue, help: "What is measured."),
      OptionSpec(
        .most, "max", kind: .single(.count(allowsAuto: false)), value: "n",
        help: "The greatest number of operations to try. The default is the most that auto would use."),
      OptionSpec(
        .seconds, "seconds", kind: .single(.duration), value: "time", default: "30s",
        help: "How long all measurements take together, roughly."),
      OptionSpec(
        .plot, "plot", kind: .single(.file), value: "file",
        help: "Write the curve to a file, as SVG. An existing file is replaced."),
      OptionSpec(
        .save, "save",
        help: "Remember the concurrency for this file system: auto begins with it from now on."),
    ],
    shared: [Group.selection, Group.reporting, Group.general],
    examples: [
      Example(command: "batchproc tune /srv", meaning: "Print the line to use for /srv."),
      Example(
        command: "batchproc tune --job archive --plot curve.svg --save /mnt/array",
        meaning: "Measure archiving, draw the curve and remember the result."),
    ])
}

/// What `tune` measures.
enum TuneJob: String, CaseIterable, Sendable {
  case hash, compress, archive
}
