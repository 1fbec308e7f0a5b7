import BatchCore

extension CommandSpec {
  static let duplicates = CommandSpec(
    id: .duplicates,
    abstract: "Print groups of files with equal content.",
    discussion: [
      """
      Files of one size are compared by their first and last 4 KiB, and then by the SHA-256 of all of their content. \
      Hard links of one file are one file, of which the first name is printed. Empty files are left out. The group whose copies \
      take the most room comes first, and the files of a group have the order of the tree. Nothing is removed or changed.
      """
    ],
    operands: [Operand(name: "path", repeats: true, help: "Files and directories.")],
    own: [
      OptionSpec(
        .format, "format", kind: .single(.choice(DuplicateForm.allCases.map(\.rawValue))), value: "format",
        default: DuplicateForm.text.rawValue,
        help: """
          text has a line with the size of each group above its files; fdupes has files alone and an empty line behind \
          each group.
          """),
      OptionSpec(
        .zero, "zero", short: "z",
        help: "End names in NUL, do not escape them, and end each group in one more NUL."),
      OptionSpec(
        .cache, "cache",
        help: "Take digests from the cache of 'batchproc hash --cache', and add those of files that are read."
      ),
    ],
    shared: Group.withThreads,
    examples: [
      Example(command: "batchproc duplicates photos", meaning: "List the copies in a tree."),
      Example(
        command: "batchproc duplicates --cache --min-size 1M /srv /bk",
        meaning: "Compare two trees, without small files, and remember digests."),
    ])
}

/// How groups are printed.
enum DuplicateForm: String, CaseIterable {
  case text, fdupes
}
