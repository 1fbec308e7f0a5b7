import BatchCore

extension CommandSpec {
  static let duplicates = CommandSpec(
    id: .duplicates,
    abstract: "Print groups of files with equal content.",
    discussion: [
      """
      Files of the same size are compared by their first and last 4 KiB, and then by a digest of their whole \
      content: SHA-256, or BLAKE3 for large files unless --json or --cache needs SHA-256. The hard links of a file \
      count as one file, and the first name is printed. Empty files are left out. The group whose copies take the \
      most room comes first. The files of a group are in the order of the tree. Nothing is changed without --link.
      """,
      """
      With --folders, groups of folders come first. Two folders are equal if they have the same names, files with \
      equal content, and links with the same target, at every depth; owners, modes and times do not matter. Files \
      that --min-size leaves out are compared too. Whatever other options leave out is not: folders are then judged \
      by the rest. A folder is equal to no other if something in it could not be read, changed meanwhile, or is a FIFO, \
      socket or device. Folders without any bytes in files are left out, and so are folders whose files are all hard \
      links of those in a folder that is printed. Folders and files that lie in folders of a group are printed \
      again only if they have a copy elsewhere: remove copies, and run it again.
      """,
      """
      With --link hard each copy is replaced by a hard link to the first file of its group that is on the same file \
      system and has the same owner, group, mode, access control list and attributes. It then has the times of that \
      file. With --link reflink a copy stays a file of its own, and shares its blocks with the first file until one \
      of the two is written to. The bytes are compared again just before linking. A copy that cannot be linked is \
      named with the reason, such as names outside of the paths given, or a program that has it open for writing. \
      With --dry-run nothing is changed, and each copy that would be linked is printed with the file that is kept; \
      -v prints them too.
      """,
    ],
    operands: [Operand(name: "path", repeats: true, help: "Files and directories.")],
    own: [
      OptionSpec(
        .format, "format", kind: .single(.choice(DuplicateForm.allCases.map(\.rawValue))), value: "format",
        default: DuplicateForm.text.rawValue,
        help: """
          text prints a line with the size above the files of each group. fdupes prints only the files, and an empty \
          line after each group.
          """),
      OptionSpec(
        .zero, "zero", short: "z",
        help: "End names in NUL and do not escape them; end each group in one more NUL."),
      OptionSpec(
        .folders, "folders",
        help: """
          Print groups of folders whose contents are equal, each name with a slash at its end, and then the files \
          that have copies elsewhere.
          """),
      OptionSpec(
        .link, "link", kind: .single(.choice(LinkMode.allCases.map(\.rawValue))), value: "how",
        help: """
          Replace copies by hard links to the first file of their group, or share its blocks with them (reflink).
          """),
      OptionSpec(
        .cache, "cache",
        help: "Take digests from the cache of 'batchproc hash --cache', and add those of files that are read."
      ).inPlans(.refused),
    ],
    shared: Group.withThreads,
    examples: [
      Example(command: "batchproc duplicates photos", meaning: "List the copies in a tree."),
      Example(
        command: "batchproc duplicates --cache --min-size 1M /srv /bk",
        meaning: "Compare two trees, without small files, and remember digests."),
      Example(
        command: "batchproc duplicates --folders photos",
        meaning: "List equal folders, and the copies outside of them."),
      Example(
        command: "batchproc duplicates --link hard --dry-run photos",
        meaning: "Print what would be linked to what."),
    ])
}

/// How groups are printed.
enum DuplicateForm: String, CaseIterable {
  case text, fdupes
}
