import BatchEngine

extension CommandSpec.Group {
  /// What every command that processes files has.
  static let common: [CommandSpec.Group] = [scheduling, selection, policy, runReporting, general]

  /// The same for commands that compress or decompress, where `-T` is known from the stock tools.
  static let withThreads: [CommandSpec.Group] =
    [
      CommandSpec.Group(
        title: scheduling.title,
        options: scheduling.options.prefix(1) + [
          OptionSpec(
            .threads, "threads", short: "T", kind: .single(.threads), value: "n",
            help: "The same as --max-concurrency; 0 is auto.")
        ] + scheduling.options.dropFirst())
    ] + common.dropFirst()

  static let scheduling = CommandSpec.Group(
    title: "SCHEDULING",
    options: [
      OptionSpec(
        .maxConcurrency, "max-concurrency", short: "j", kind: .single(.count(allowsAuto: true)),
        value: "n",
        default: "auto", environment: "BATCHPROC_MAX_CONCURRENCY",
        help: "Operations at once; numbers above what the machine allows are lowered."),
      OptionSpec(
        .stride, "stride", kind: .single(.count(allowsAuto: true)), value: "n", default: "auto",
        help: "Files per operation; auto strides by count and bytes."),
      OptionSpec(
        .maxOpenFiles, "max-open-files", kind: .single(.count(allowsAuto: false)), value: "n",
        default: "half of the limit", help: "File descriptors to use at most."),
      OptionSpec(
        .maxMemory, "max-memory", kind: .single(.size(minimum: 1)), value: "size",
        help: "Memory for buffers at most, such as 512M; reading waits when it is used up."),
      OptionSpec(
        .maxLoad, "max-load", kind: .single(.load), value: "load",
        help: """
          While the load average is above this, run half as many operations; if it stays, pause. 'pressure:20' compares the \
          percentage of the last 10 s in which processes waited for a processor.
          """),
      OptionSpec(
        .stallWarning, "stall-warning", kind: .single(.duration), value: "time", default: "10m",
        help: "Name the files in progress when nothing was read for so long; 0 is never."),
      OptionSpec(
        .stallTimeout, "stall-timeout", kind: .single(.duration), value: "time", default: "0",
        help: "End the run (1) when nothing was read for so long, and unlock its set; 0 is never."),
      OptionSpec(
        .control, "control", kind: .single(.file), value: "file",
        help: """
          Obey a file that is read again during the run: lines of 'concurrency N', 'concurrency auto', \
          'pause' or 'resume'.
          """),
      OptionSpec(
        .qos, "qos", kind: .single(.choice(ProcessPriority.allCases.map(\.rawValue))),
        value: "class",
        default: ProcessPriority.standard.rawValue,
        help: "Quality of service: sets CPU and I/O priority."),
    ])

  static let selection = CommandSpec.Group(
    title: "SELECTION",
    options: [
      OptionSpec(
        .filesFrom, "files-from", kind: .repeatable(.file), value: "file",
        help: "Read paths from the lines of a file; - is standard input."),
      OptionSpec(
        .files0From, "files0-from", kind: .repeatable(.file), value: "file",
        help: "Read paths that end in NUL from a file; - is standard input."),
      OptionSpec(
        .exclude, "exclude", kind: .repeatable(.glob), value: "glob",
        help: """
          Leave out what matches; of several rules the last that matches decides. A glob without a slash is matched \
          against names, at every depth; any other against the path below the path given, and as a path from the \
          working directory or the root.
          """),
      OptionSpec(
        .include, "include", kind: .repeatable(.glob), value: "glob",
        help: "Take what matches although an earlier rule leaves it out."),
      OptionSpec(
        .excludeFrom, "exclude-from", kind: .repeatable(.file), value: "file",
        help: "Read rules from a file, in the syntax of gitignore; - is standard input."),
      OptionSpec(
        .excludeCaches, "exclude-caches",
        help: "Leave out directories that hold a valid CACHEDIR.TAG."),
      OptionSpec(.gitignore, "gitignore", help: "Obey the .gitignore files of the tree."),
      OptionSpec(
        .oneFileSystem, "one-file-system", short: "x",
        help: "Stay on the file system of each path given."),
      OptionSpec(
        .minSize, "min-size", kind: .single(.size(minimum: 0)), value: "size",
        help: "Leave out files that are smaller."),
      OptionSpec(
        .maxSize, "max-size", kind: .single(.size(minimum: 0)), value: "size",
        help: "Leave out files that are larger."),
      OptionSpec(
        .olderThan, "older-than", kind: .single(.age), value: "age",
        help: """
          Leave out files that were modified since: 12h or 7d before the start of the run, or since a date, such as \
          2026-01-31 or '2026-01-31 12:30' by the local clock.
          """),
      OptionSpec(
        .newerThan, "newer-than", kind: .single(.age), value: "age",
        help: "Leave out files that were not modified since; written as for --older-than."),
      OptionSpec(
        .maxHole, "max-hole", kind: .single(.size(minimum: 0)), value: "size", default: "1T",
        help: """
          A file with more bytes of holes is named and left out (3), where its zeros would have to be hashed or \
          compressed; tar archives and backups keep holes as holes, and leave out none.
          """),
      .maxLevels,
    ])

  static let policy = CommandSpec.Group(
    title: "POLICY",
    options: [
      OptionSpec(
        .on, "on", kind: .repeatable(.policy), value: "event=action",
        help: """
          What to do about vanished, changed, unreadable or special files: ok, warn, fail or retry:N \
          with N from 1 to \(EventPolicy.Action.retryLimit).
          """),
      OptionSpec(.dryRun, "dry-run", short: "n", help: "Say what would be done, and do nothing."),
      OptionSpec(
        .fsync, "fsync", kind: .invertible(initially: true), default: "--fsync",
        help: "Bring outputs to stable storage before they get their final name."),
    ])

  static let reporting = CommandSpec.Group(
    title: "REPORTING",
    options: [
      OptionSpec(
        .progress, "progress", kind: .single(.choice(ProgressMode.allCases.map(\.rawValue))),
        value: "mode",
        default: ProgressMode.auto.rawValue,
        help: "Progress on standard error; auto draws a bar on a terminal and nothing elsewhere."),
      OptionSpec(.quiet, "quiet", short: "q", help: "Print no progress and no summary."),
      OptionSpec(.verbose, "verbose", short: "v", help: "Also name what was left out."),
      OptionSpec(
        .color, "color", kind: .single(.choice(ColorMode.allCases.map(\.rawValue))), value: "when",
        default: ColorMode.auto.rawValue, help: "Colour in messages."),
      OptionSpec(.json, "json", help: "Write results as JSON lines."),
    ])

  /// What commands have that process files.
  static let runReporting = CommandSpec.Group(
    title: reporting.title,
    options: reporting.options + [
      OptionSpec(
        .report, "report", kind: .single(.file), value: "file",
        help: """
          Write an HTML page about the run to a file that appears at its end. A page that batchproc made is replaced; any other \
          file is kept without --force.
          """),
      OptionSpec(.force, "force", help: "Replace the file of --report, whatever it is."),
    ])

  static let general = CommandSpec.Group(
    title: "GENERAL",
    options: [
      OptionSpec(.version, "version", help: "Show the version."),
      OptionSpec(.help, "help", short: "h", help: "Show help information."),
    ])
}

extension OptionSpec {
  /// Of commands that walk trees, and of those that extract.
  static let maxLevels = OptionSpec(
    .maxLevels, "max-levels", kind: .single(.number(1...PathLimits.mostLevels)), value: "n",
    default: "\(PathLimits.defaultLevels)",
    help: """
      Name and leave out (3) folders that lie deeper in others than this, and those whose paths are longer than 64 KiB \
      (16 bytes for each level above \(PathLimits.defaultLevels)).
      """)
}
