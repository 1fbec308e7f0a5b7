import BatchCore

extension CommandSpec {
  static let run = CommandSpec(
    id: .run,
    abstract: "Run a command of yours for each file.",
    discussion: [
      """
      The command comes after '--'. It is started without a shell, once for each file, several at a time. In its \
      words {} is the path of the file, {name} its last part, {stem} that part without its last suffix, {dir} its \
      directory, {path} its path below the given one, {n} its number in the order of the tree, {out} the place of the \
      output, and {{ is a brace. Without any of these the path is added as the last word. A path that begins with - \
      gets ./ in front. For a shell, give -- sh -c '... "$1" ...' x {} as the command.
      """,
      """
      Without outputs, what the command prints on standard output is passed on, whole and in the order of the tree. \
      With --suffix, --replace-suffix or --output-dir each file gets one output, named as by compress: the command \
      writes {out}, or its standard output is the content. {out} is the final name in a private directory. The output \
      appears when the command has ended with status 0, with owner, mode and time of its source. A source whose output \
      has its time is skipped. Each output has a mark, the extended attribute user.batchproc.command. An output that \
      another command made is made again. A file without the mark is never replaced, except with --force.
      """,
      """
      A child that fails (status, signal, time limit, no output) fails its file alone, and the exit code is 3. Standard \
      error is passed on in lines with the path in front. Standard input is empty. The variables BATCHPROC_PATH, \
      BATCHPROC_OUT, BATCHPROC_NUMBER and BATCHPROC_TRY, and in a shard BATCHPROC_SHARD, are set. Memory that children \
      use does not count for --max-memory.
      """,
    ],
    operands: [
      Operand(name: "path", repeats: true, help: "Files and directories."),
      Operand(
        name: "command", repeats: true, help: "The program and its arguments, after a '--'.",
        isAfterDashes: true),
    ],
    own: [
      OptionSpec(
        .suffix, "suffix", short: "S", kind: .single(.file), value: "text",
        help: "Make one output for each file; the suffix is added to its name."),
      OptionSpec(
        .replaceSuffix, "replace-suffix", kind: .single(.file), value: "text",
        help: """
          Make one output for each file, whose name has this suffix in place of its last one. If several files have one \
          output, the first one gets it, and the others fail.
          """),
      .outputDirectory,
      OptionSpec(
        .inPlace, "in-place",
        help: """
          Give the command a copy as {}. The copy replaces the file when the command succeeds and has changed it. The \
          file keeps owner, mode and attributes and gets the present time. It is not processed again until it changes, \
          or another command is given. A file with several names is kept (3).
          """),
      OptionSpec(.stdin, "stdin", help: "Give the content of the file as standard input. No path is added."),
      OptionSpec(
        .accept, "accept", kind: .single(.file), value: "list", default: "0",
        help: "The statuses that mean success, separated by commas."),
      OptionSpec(
        .timeLimit, "timeout", kind: .single(.duration), value: "time",
        help: "Stop a child after this time: with TERM, and with KILL 5 s later."),
      OptionSpec(
        .retry, "retry", kind: .single(.number(0...1000)), value: "n", default: "0",
        help: "Try a failed child again, up to n times, each time after a second."),
      OptionSpec(
        .stopAfter, "stop-after", kind: .single(.number(1...1_000_000_000)), value: "n",
        help: "Start no further children after n failures."),
      OptionSpec(
        .batch, "batch", kind: .single(.number(1...1_000_000)), value: "n", default: "1",
        help: "Give up to n paths to one child, within 128 KiB. Not with outputs."),
      OptionSpec(
        .stderr, "stderr", kind: .single(.choice(RunChoices.stderrModes)), value: "mode", default: "ordered",
        help: "Pass standard error on in the order of the tree, or live: each line at once."),
      OptionSpec(
        .log, "log", kind: .single(.file), value: "file",
        help: """
          Write a line of JSON for each child: command, status or signal, tries, seconds, peak memory, size of the \
          output. With --json the same is printed on standard output. Only the log of an earlier run is replaced.
          """
      ).inPlans(.chosenByShard),
      .plan, .shard,
      OptionSpec(
        .force, "force", short: "f",
        help: "Process every file, and replace outputs without a mark too."
      ).inPlans(.chosenByShard),
      .followSymlinks,
    ],
    // The command reads the files, so its rate cannot be limited.
    shared: Group.withThreads.map { group in
      Group(title: group.title, options: group.options.filter { $0.id != .rate })
    },
    examples: [
      Example(
        command: "batchproc run --replace-suffix .webp photos -- cwebp {} -o {out}",
        meaning: "Convert images; run it again to convert only what is new."),
      Example(
        command: "batchproc run --in-place src -- clang-format -i",
        meaning: "Change files, each one wholly or not at all."),
      Example(
        command: "batchproc run --timeout 10m --retry 2 -j 4 data -- ./simulate --input {}",
        meaning: "Run a program for each file, and print what it prints in the order of the files."),
    ])
}
