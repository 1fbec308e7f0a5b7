extension CommandSpec {
  static let tune = CommandSpec(
    id: .tune,
    abstract: "Measure which concurrency is fastest for a tree, and recommend it.",
    discussion: [
      """
      Runs the real job on a sample of the tree, over and over at other numbers of operations and files per \
      operation, one run after the other and in turns, until it is known how far the runs are apart. Nothing is \
      changed in the tree: archives are not kept, and compressed files are made in a temporary directory and removed.
      """,
      """
      Where the kernel can be asked to forget what it has read, the sample is forgotten before each run (cold); \
      elsewhere it stays in memory (warm). The table says which.
      """,
    ],
    operands: [Operand(name: "dir", repeats: false, help: "The directory to measure with.")],
    own: [
      OptionSpec(
        .job, "job", kind: .single(.choice(TuneJob.allCases.map(\.rawValue))), value: "job",
        default: TuneJob.hash.rawValue, help: "What is measured."),
      OptionSpec(
        .most, "max", kind: .single(.count(allowsAuto: false)), value: "n",
        help: "Operations at once at most; by default as many as auto would use."),
      OptionSpec(
        .seconds, "seconds", kind: .single(.duration), value: "time", default: "30s",
        help: "How long all measurements together take, about."),
      OptionSpec(
        .plot, "plot", kind: .single(.file), value: "file",
        help: "Write the curve to a file, as SVG; replaces it."),
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
