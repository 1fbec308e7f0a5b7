extension CommandSpec {
  static let compress = CommandSpec(
    id: .compress,
    abstract: "Compress files, one output for each.",
    discussion: [
      """
      Outputs stand beside their sources and have their mode, time, owner and attributes; sources stay. An \
      output with the time of its source is up to date and is passed over. Files that are compressed already, \
      by their content, and those that would not become smaller are passed over too. Large files are \
      compressed by all cores. - compresses standard input to standard output; so does no path, when standard \
      input is a pipe or a file.
      """
    ],
    operands: [
      Operand(
        name: "path", repeats: true, help: "Files and directories; - is standard input.",
        takesInput: true)
    ],
    own: [
      OptionSpec(
        .format, "format",
        kind: .single(.choice(TransformChoices.formats, aliases: TransformChoices.formatAliases)),
        value: "format", default: "gz",
        help: "Form of the outputs."),
      OptionSpec(
        .level, "level", short: "l", kind: .single(.whole), takesDigits: true,
        value: "n",
        default: "gz 6, zst 3, xz 6, lz4 1",
        help: """
          How hard to try: gz 0 to 12 (0 stores), zst 1 to 22, xz 0 to 9, lz4 1 to 12. -9 and -19 are written \
          for it too.
          """),
      OptionSpec(.fastest, "fast", help: "The lowest level of the format; of gz level 1."),
      OptionSpec(.best, "best", help: "The highest level of the format; of zst level 19."),
      OptionSpec(
        .suffix, "suffix", short: "S", kind: .single(.file), value: "text",
        default: ".gz and so on",
        help: "Suffix of the outputs."),
      .outputDirectory, .toStdout, .keep, .removeSource, .plan, .shard,
      OptionSpec(
        .force, "force", short: "f",
        help: "Write outputs also when they are up to date or newer than their sources."),
      OptionSpec(
        .replace, "replace", kind: .invertible(initially: true), default: "--replace",
        help:
          "Replace an output that is older than its source; without it the output is kept and named."
      ),
      OptionSpec(
        .copyOthers, "copy-others",
        help: """
          With --output-dir: copy the files that get no compressed output, so that the directory is complete.
          """),
      OptionSpec(
        .compressAll, "compress-all",
        help:
          "Write outputs also when they are not smaller, and of files that are compressed already."),
      .followSymlinks,
    ],
    shared: Group.withThreads,
    examples: [
      Example(
        command: "batchproc compress logs", meaning: "Write logs/x.gz beside each file of a tree."),
      Example(
        command: "batchproc compress --format zst --remove-source --exclude '*.tmp' logs",
        meaning: "Replace each file by its compressed form, once that is verified and on the disk."),
    ])

  static let decompress = CommandSpec(
    id: .decompress,
    abstract: "Decompress gzip, zstd, xz, lz4, bzip2, compress(1), lzip and lzma files.",
    discussion: [
      """
      The format is told by the content, the name of the output by the suffix: .gz, .zst, .xz, .lz4, .bz2, .Z, \
      .lz, .lzma, .z and .gzip go, .tgz, .taz, .taZ, .tzst, .txz, .tlz4, .tbz, .tbz2 and .tlz become .tar. Files in \
      a tree without such a suffix are passed over. What follows the end of gzip, bzip2 and lzip data is a \
      warning, and damage where it begins as another member and ends early, as for gzip -d; behind other formats it \
      is always damage. -v names files whose content has no checksum. - decompresses standard input to standard \
      output; so does no path, when standard input is a pipe or a file.
      """,
      """
      A file that has the name of an output and the time of the source is up to date. Any other file is kept and \
      named, and the exit code is 3; --update replaces those that are older, and --force all.
      """,
    ],
    operands: [
      Operand(
        name: "path", repeats: true, help: "Files and directories; - is standard input.",
        takesInput: true)
    ],
    own: [
      .outputDirectory, .toStdout, .keep, .removeSource, .plan, .shard,
      OptionSpec(.force, "force", short: "f", help: "Replace files that exist."),
      OptionSpec(.update, "update", help: "Replace files that are older than their sources."),
      .maxOutput,
      .followSymlinks,
    ],
    shared: Group.withThreads,
    examples: [
      Example(
        command: "batchproc decompress logs", meaning: "Write each file of a tree decompressed.")
    ])

  static let cat = CommandSpec(
    id: .cat,
    abstract: "Decompress files to standard output.",
    discussion: [
      """
      The same as decompress --stdout: the contents come one after the other, in the order of the paths, and no \
      file is changed. The format is told by the content.
      """,
      """
      With --identity or --passphrase-file each path is a file of age, and what is printed are its plain bytes, compressed \
      or not.
      """,
    ],
    operands: [
      Operand(
        name: "path", repeats: true, help: "Files and directories; - is standard input.",
        takesInput: true)
    ],
    own: [
      .maxOutput,
      .followSymlinks,
    ] + OptionSpec.opening,
    shared: Group.withThreads,
    examples: [
      Example(
        command: "batchproc cat logs/app.log.*.gz | grep error", meaning: "Search compressed files."
      )
    ])

  static let test = CommandSpec(
    id: .test,
    abstract: "Decode compressed files and keep nothing.",
    discussion: [
      """
      Each file that is damaged is named with the kind of damage. Files without a checksum, or with one that cannot \
      be verified, are counted; -v names them. - tests standard input.
      """
    ],
    operands: [
      Operand(
        name: "path", repeats: true, help: "Files and directories; - is standard input.",
        takesInput: true)
    ],
    own: [.followSymlinks, .plan, .shard, .forceShard],
    shared: Group.withThreads,
    examples: [
      Example(command: "batchproc test backups", meaning: "Say which files of a tree are damaged.")
    ])
}

extension OptionSpec {
  fileprivate static let outputDirectory = OptionSpec(
    .outputDirectory, "output-dir", kind: .single(.file), value: "dir",
    help: "Write the outputs below a directory, with the paths of their sources.")

  fileprivate static let toStdout = OptionSpec(
    .toStdout, "stdout", "to-stdout", short: "c",
    help: "Write to standard output, one after the other, and change no file.")

  fileprivate static let keep = OptionSpec(
    .keep, "keep", short: "k", help: "Keep the sources, as is done without --remove-source.")

  fileprivate static let removeSource = OptionSpec(
    .removeSource, "remove-source", "rm",
    help: "Remove each source after its output was read back, compared and brought to the disk.")

  fileprivate static let maxOutput = OptionSpec(
    .maxOutput, "max-output", kind: .single(.size(minimum: 1)), value: "size",
    help: "Refuse a file whose content is larger.")

  fileprivate static let followSymlinks = OptionSpec(
    .followSymlinks, "follow-symlinks", short: "L", help: "Read what symbolic links lead to.")
}
