import BatchCore

extension CommandSpec {
  static let duplicates = CommandSpec(
    id: .duplicates,
    abstract: "Print groups of files with equal content.",
    discussion: [
      """
      Files of one size are compared by their first and last 4 KiB, and then by the SHA-256 of all of their content. \
      Hard links of one file are one file, of which the first name is printed. Empty files are left out. The group whose copies \
      take the most room comes first, and the files of a group have the order of the tree. Nothing is changed without --link.
      """,
      """
      With --link hard each copy becomes a further name of the first file of its group that has the same owner, group, mode, access \
      control list and attributes, and is on the same file system; it has the times of that file then. With --link reflink a \
      copy stays a file of its own, and shares its blocks until one of both is written to. Bytes are compared once more just before. \
      A copy that is left as it is is named with the reason; so is one that has names outside of the paths given, or that \
      somebody has open for writing. With --dry-run nothing is changed, and the copies that would be linked are printed, each \
      with the file that is kept; -v prints them too.
      """,
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
        .link, "link", kind: .single(.choice(LinkWord.allCases.map(\.rawValue))), value: "how",
        help: "Link copies to the first file of their group: as names of one file, or by shared blocks."),
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
      Example(
        command: "batchproc duplicates --link hard --dry-run photos",
        meaning: "Print what would be linked to what."),
    ])
}

/// How groups are printed.
enum DuplicateForm: String, CaseIterable {
  case text, fdupes
}

/// How copies are linked.
enum LinkWord: String, CaseIterable {
  case hard, reflink
}
