import BatchEngine

extension CommandSpec.Group {
  /// The option groups of every command that processes files.
  static let common: [CommandSpec.Group] = [scheduling, selection, policy, runReporting, general]

  /// The common groups with `-T`, for commands that compress or decompress: their stock tools have this option.
  static let withThreads: [CommandSpec.Group] =
    [
      CommandSpec.Group(
        title: scheduling.title,
        options: scheduling.options.prefix(1) + [
          OptionSpec(
            .threads, "threads", short: "T", kind: .single(.threads), value: "n",
            help: "The same as --max-concurrency; 0 is auto."
          ).inPlans(.chosenByShard)
        ] + scheduling.options.dropFirst())
    ] + common.dropFirst()

  static let scheduling = CommandSpec.Group(
    title: "SCHEDULING",
    options: [
      OptionSpec(
        .maxConcurrency, "max-concurrency", short: "j", kind: .single(.count(allowsAuto: true)),
        value: "n",
        default: "auto", environment: "BATCHPROC_MAX_CONCURRENCY",
        help: "How many operations run at once. A number above what the machine allows is lowered."
      ).inPlans(.chosenByShard),
      OptionSpec(
        .stride, "stride", kind: .single(.count(allowsAuto: true)), value: "n", default: "auto",
        help: "Files per operation. auto cuts by count and bytes."),
      OptionSpec(
        .maxOpenFiles, "max-open-files", kind: .single(.count(allowsAuto: false)), value: "n",
        default: "half of the limit", help: "Limit of the open file descriptors."
      ).inPlans(.chosenByShard),
      OptionSpec(
        .maxMemory, "max-memory", kind: .single(.size(minimum: 1)), value: "size",
        help: "Limit of the memory for buffers, such as 512M. When it is used up, reading waits."
      ).inPlans(.chosenByShard),
      OptionSpec(
        .maxLoad, "max-load", kind: .single(.load), value: "load",
        help: """
          While the load average is above this, run half as many operations; if it stays, pause. 'pressure:20' compares the \
          percentage of the last 10 s in which processes waited for a processor.
          """
      ).inPlans(.chosenByShard),
      OptionSpec.rate.inPlans(.chosenByShard),
      OptionSpec(
        .stallWarning, "stall-warning", kind: .single(.duration), value: "time", default: "10m",
        help: "Name the files in progress when nothing was read for this time; 0 means never."
      ).inPlans(.chosenByShard),
      OptionSpec(
        .stallTimeout, "stall-timeout", kind: .single(.duration), value: "time", default: "0",
        help: "End the run with 1 when nothing was read for this time, and unlock its set; 0 means never."
      ).inPlans(.chosenByShard),
      OptionSpec(
        .control, "control", kind: .single(.file), value: "file",
        help: """
          Read commands from this file during the run, one a line: 'concurrency N', 'concurrency auto', 'rate SIZE', \
          'rate off', 'pause' or 'resume'.
          """
      ).inPlans([.chosenByShard, .refused]),
      OptionSpec(
        .qos, "qos", kind: .single(.choice(ProcessPriority.allCases.map(\.rawValue))),
        value: "class",
        default: ProcessPriority.standard.rawValue,
        help: "Quality of service: sets CPU and I/O priority."
      ).inPlans(.chosenByShard),
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
          Leave out paths that match this glob. When several rules match, the last one decides. A glob without a \
          slash is compared with names at every depth. A glob with a slash is compared with the path below the path \
          given, and with the path from the working directory or from the root.
          """),
      OptionSpec(
        .include, "include", kind: .repeatable(.glob), value: "glob",
        help:
          """
          Take paths that match this glob, also when an earlier rule leaves them out. Without --exclude, only these are \
          taken, a directory with everything below it.
          """
      ),
      OptionSpec(
        .excludeFrom, "exclude-from", kind: .repeatable(.file), value: "file",
        help: "Read --exclude rules from a file, in the syntax of gitignore; - is standard input."),
      OptionSpec(
        .excludeCaches, "exclude-caches",
        help: "Leave out directories that hold a valid CACHEDIR.TAG."),
      OptionSpec(.gitignore, "gitignore", help: "Leave out what the .gitignore files in the tree list."),
      OptionSpec(
        .oneFileSystem, "one-file-system", short: "x",
        help: "Stay on the file system of each path given."),
      OptionSpec(
        .minSize, "min-size", kind: .single(.size(minimum: 0)), value: "size",
        help: "Leave out files that are smaller than this."),
      OptionSpec(
        .maxSize, "max-size", kind: .single(.size(minimum: 0)), value: "size",
        help: "Leave out files that are larger than this."),
      OptionSpec(
        .olderThan, "older-than", kind: .single(.age), value: "age",
        help: """
          Take only files that were last modified before this: an age, such as 12h, 7d, 1w or '3 months', counted from \
          the start of the run, or a local date, such as yesterday, 2026-01-31 or '2026-01-31 12:30'. A day is taken at \
          its first moment.
          """),
      OptionSpec(
        .newerThan, "newer-than", kind: .single(.age), value: "age",
        help: "Take only files that were modified after this: an age or a date, as for --older-than."),
      OptionSpec(
        .maxHole, "max-hole", kind: .single(.size(minimum: 0)), value: "size", default: "1T",
        help: """
          Leave out and name (3) files whose holes have more bytes than this, when their zeros would have to be \
          hashed or compressed. Tar archives and backups store holes as holes, and leave out no file.
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
          """
      ).inPlans(.chosenByShard),
      OptionSpec(.dryRun, "dry-run", short: "n", help: "Print what would be done, and do nothing.").inPlans(
        .refused),
      OptionSpec(
        .fsync, "fsync", kind: .invertible(initially: true), default: "--fsync",
        help: "Bring outputs to stable storage before they get their final name."
      ).inPlans(.chosenByShard),
    ])

  static let reporting = CommandSpec.Group(
    title: "REPORTING",
    options: [
      OptionSpec(
        .progress, "progress", kind: .single(.choice(ProgressMode.allCases.map(\.rawValue))),
        value: "mode",
        default: ProgressMode.auto.rawValue,
        help: """
          How to show progress on standard error. auto draws a bar on a terminal, and nothing elsewhere.
          """
      ).inPlans(.chosenByShard),
      OptionSpec(.quiet, "quiet", short: "q", help: "Print neither progress nor summary.").inPlans(
        .chosenByShard),
      OptionSpec(.verbose, "verbose", short: "v", help: "Also name the files that were left out.").inPlans(
        .chosenByShard),
      OptionSpec(
        .color, "color", kind: .single(.choice(ColorMode.allCases.map(\.rawValue))), value: "when",
        default: ColorMode.auto.rawValue, help: "Color in messages."
      ).inPlans(.chosenByShard),
      OptionSpec(.json, "json", help: "Write results as JSON lines.").inPlans(.refused),
    ])

  /// Options of commands that process files.
  static let runReporting = CommandSpec.Group(
    title: reporting.title,
    options: reporting.options + [
      OptionSpec(
        .report, "report", kind: .single(.file), value: "file",
        help: """
          Write an HTML page about the run to a file that appears at its end. A page that batchproc made is replaced; any other \
          file is kept without --force.
          """
      ).inPlans([.chosenByShard, .refused]),
      OptionSpec(.force, "force", help: "Replace the file of --report, whatever it is.").inPlans(
        .chosenByShard),
    ])

  static let general = CommandSpec.Group(
    title: "GENERAL",
    options: [
      OptionSpec(.version, "version", help: "Show the version."),
      OptionSpec(.help, "help", short: "h", help: "Show help information."),
    ])
}

extension CommandSpec.Operand {
  /// Of commands that read standard input where no path is given.
  static let inputs = CommandSpec.Operand(
    name: "path", repeats: true, help: "Files and directories; - is standard input.", takesInput: true)
}

extension OptionSpec {
  /// For commands that walk trees, and for those that extract.
  static let maxLevels = OptionSpec(
    .maxLevels, "max-levels", kind: .single(.number(1...PathLimits.mostLevels)), value: "n",
    default: "\(PathLimits.defaultLevels)",
    help: """
      Leave out and name (3) folders that are nested more deeply than this, and folders whose paths are longer than \
      64 KiB. For n above \(PathLimits.defaultLevels) the limit of a path is 16 bytes for each level.
      """)
}

extension OptionSpec {
  static let rate = OptionSpec(
    .rate, "rate", kind: .single(.size(minimum: 1)), value: "size",
    help: "Read at most this many bytes a second, such as 50M.")
}
