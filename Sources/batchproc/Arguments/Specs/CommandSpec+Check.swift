extension CommandSpec {
  static let check = CommandSpec(
    id: .check,
    abstract: "Verify files against manifests.",
    discussion: [
      """
      The form of a manifest (gnu, bsd, hashdeep, mtree, json) is detected, and so is the algorithm, from \
      its tag or from the length of the digest. Results appear in the order of the manifest.
      """,
      """
      A row that is not valid (a cut digest, an unsupported algorithm, a NUL byte) is named with its line, and the \
      exit code is 4. Empty lines, comments, headings, the armor of a signed file and text before the first row are \
      ignored.
      """,
      """
      Patterns of --exclude and --include are compared with the names in the manifest. Relative names are looked for \
      below the directory of -C, and --one-file-system stays on its file system.
      """,
    ],
    operands: [
      Operand(
        name: "manifest", repeats: true, help: "Manifests to verify; - is standard input.",
        takesInput: true)
    ],
    own: [
      OptionSpec(
        .algorithm, "algorithm", short: "a",
        kind: .single(.choice(HashOptions.algorithmNames, aliases: HashOptions.algorithmAliases)),
        value: "algorithm",
        help: "The algorithm of digests without a name; those of another length are malformed rows."),
      OptionSpec(.zero, "zero", short: "z", help: "Rows of the manifest end in NUL."),
      OptionSpec(
        .quiet, "quiet", short: "q",
        help: "Print only rows of files that are not OK, and neither progress nor summary."
      ).inPlans(.chosenByShard),
      OptionSpec(
        .status, "status",
        help: "Print nothing but errors; only the exit code says whether the files are OK."),
      OptionSpec(.checkMode, "check", short: "c", help: "Does nothing: accepted as by sha256sum."),
      OptionSpec(
        .escape, "escape",
        help: "Escape control bytes in rows, as on a terminal: for mails and logs."),
      OptionSpec(.warn, "warn", short: "w", help: "Name each line that is not a row of a manifest."),
      OptionSpec(.strict, "strict", help: "Count each line that is not a row as a difference."),
      OptionSpec(
        .ignoreMissing, "ignore-missing", help: "Do not report files that do not exist."),
      OptionSpec(
        .ignoreMalformed, "ignore-malformed",
        help: "Ignore rows that are not valid, as sha256sum does."),
      OptionSpec(
        .directory, "directory", short: "C", kind: .single(.directory), value: "dir",
        help: "Look for the files below this directory."),
      .plan, .shard, .forceShard,
    ],
    shared: Group.withThreads,
    examples: [
      Example(command: "batchproc check photos.sha256", meaning: "Verify a tree."),
      Example(
        command: "batchproc hash a | batchproc check -C /mnt/copy --quiet -",
        meaning: "Compare a tree with its copy; print what differs."),
    ])
}
