import BatchCore

extension CommandSpec {
  static let compress = CommandSpec(
    id: .compress,
    abstract: "Compress files, one output for each.",
    discussion: [
      """
      Each output is written beside its source, with the same mode, time, owner and attributes. Sources are kept. An \
      output that has the time of its source is up to date, and the source is skipped. Files whose content is \
      compressed already, and files that would not become smaller, are skipped too. All cores share the blocks of a \
      large file. With -, or without a path when standard input is a pipe or a file, standard input is compressed to \
      standard output.
      """,
      """
      An output may be the only copy of its content. Therefore each output has a mark, the extended attribute \
      user.batchproc.source with the value kept or removed: whether its source was kept. An output that is older than \
      its source is replaced only if it has the mark kept; any other one is kept and named, and the exit code is 3. On \
      a file system without such attributes an older output is replaced.
      """,
      """
      With --remove-source no output is replaced. An output that has the time of its source is decoded and compared \
      with it, and then the source is removed. When the disk is full, the sources of finished outputs are removed, \
      and the outputs that did not fit are written again.
      """,
    ],
    operands: [.inputs],
    own: [
      OptionSpec(
        .format, "format",
        kind: .single(.choice(TransformChoices.formats, aliases: TransformChoices.formatAliases)),
        value: "format", default: "gz",
        help: "Form of the outputs."),
      OptionSpec(
        .level, "level", short: "l", kind: .single(.whole), takesDigits: true,
        value: "n",
        default: TransformChoices.defaultLevels,
        help: "Compression level: \(TransformChoices.levels). -9 and -19 can be given too."),
      OptionSpec(
        .fastest, "fast", help: "Use the lowest level of the format (\(TransformChoices.fastestLevels))."),
      OptionSpec(
        .best, "best", help: "Use the highest level of the format (\(TransformChoices.bestLevels))."),
      OptionSpec(
        .suffix, "suffix", short: "S", kind: .single(.file), value: "text",
        default: ".gz and so on",
        help: "Suffix of the outputs."),
      .outputDirectory, .toStdout, .keep, .removeSource, .plan, .shard,
      OptionSpec(
        .force, "force", short: "f",
        help:
          "Write every output again, also one that is up to date or newer than its source, and whatever its mark says."
      ).inPlans(.chosenByShard),
      OptionSpec(
        .replace, "replace", kind: .invertible(initially: false),
        help:
          """
          Replace every output that is older than its source. Without this option an older output is replaced only if \
          its mark says that its source was kept; with --no-replace none is. An output that is kept is named (3). With \
          --remove-source no output is replaced.
          """
      ),
      OptionSpec(
        .copyOthers, "copy-others",
        help: """
          With --output-dir: copy the files for which no compressed output is written, so that the directory is \
          complete. A file is refused if its copy could have the name of another file's output: a.gz beside a.
          """),
      OptionSpec(
        .compressAll, "compress-all",
        help:
          """
          Also write outputs that are not smaller than their sources, and outputs for files that are compressed \
          already.
          """),
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
    abstract: "Decompress \(CompressionFormat.allCases.map(\.title).list("and")) files.",
    discussion: [
      """
      The content decides the format, and the suffix the name of the output: \
      \((CompressionFormat.suffixes + CompressionFormat.otherSuffixes).list("and")) are removed; \
      \(CompressionFormat.tarSuffixes.list("and")) become .tar. Files in a tree without such a suffix are skipped. Extra bytes after the end of gzip data make the file fail \
      (3) with its content written, as with gzip -d; after bzip2 or lzip data they cause a warning; they count as \
      damage when they are the beginning of one more member. After other formats they always count as damage. -v names files whose content has no checksum. With -, or without a path \
      when standard input is a pipe or a file, standard input is decompressed to standard output.
      """,
      """
      An output that exists and has the time of its source is up to date. Any other existing file is kept and named, \
      and the exit code is 3. --update replaces files that are older than their sources, --force replaces all.
      """,
    ],
    operands: [.inputs],
    own: [
      .outputDirectory, .toStdout, .keep, .removeSource, .plan, .shard,
      OptionSpec(.force, "force", short: "f", help: "Replace files that exist.").inPlans(.chosenByShard),
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
      The same as decompress --stdout: the contents come one after the other, in the order of the paths, and no file \
      is changed. The content decides the format.
      """,
      """
      With --identity or --passphrase-file each path is a file that age encrypted. Its decrypted bytes are printed; \
      they are not decompressed.
      """,
    ],
    operands: [.inputs],
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
    abstract: "Test whether compressed files can be decoded.",
    discussion: [
      """
      Each file that is damaged is named with the kind of damage. Files without a checksum, or with one that cannot \
      be verified, are counted; -v names them. - tests standard input.
      """
    ],
    operands: [.inputs],
    own: [.followSymlinks, .plan, .shard, .forceShard],
    shared: Group.withThreads,
    examples: [
      Example(command: "batchproc test backups", meaning: "Show which files of a tree are damaged.")
    ])
}

extension OptionSpec {
  static let outputDirectory = OptionSpec(
    .outputDirectory, "output-dir", kind: .single(.file), value: "dir",
    help: "Write the outputs below a directory, with the paths of their sources.")

  fileprivate static let toStdout = OptionSpec(
    .toStdout, "stdout", "to-stdout", short: "c",
    help: "Write all contents to standard output, one after the other, and change no file."
  ).inPlans(.refused)

  fileprivate static let keep = OptionSpec(
    .keep, "keep", short: "k", help: "Keep the sources. This is the default.")

  fileprivate static let removeSource = OptionSpec(
    .removeSource, "remove-source", "rm",
    help: "Remove each source after its output was read back, compared and synced to the disk.")

  fileprivate static let maxOutput = OptionSpec(
    .maxOutput, "max-output", kind: .single(.size(minimum: 1)), value: "size",
    help: "Refuse a file whose content is larger than this.")

  static let followSymlinks = OptionSpec(
    .followSymlinks, "follow-symlinks", short: "L", help: "Follow symbolic links.")
}
