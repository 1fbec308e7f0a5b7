import BatchCore

extension CommandSpec {
  static let plan = CommandSpec(
    id: .plan,
    abstract: "Divide a command among several machines.",
    discussion: [
      """
      The trees are walked once. Their entries are written into a directory that all machines share, and are divided \
      into ranges of equal cost, the shards. The command itself then processes each shard, with --plan and --shard, \
      on any machine and in any order. 'batchproc merge' joins the results. The output has the same bytes as that of \
      a run on one machine. Commands that can be divided: hash, check, test, run, mirror, archive with a format of the tar family, \
      and compress and decompress with one path.
      """,
      """
      A plan controls what its shards read, write and remove. So its directory and its files must belong to the user of \
      each command or to root, and no other user may be able to write to them; else the command ends with 64.
      """,
    ],
    operands: [
      Operand(name: "command", repeats: true, help: "The command with its options, after a '--'.")
    ],
    own: [
      .shards,
      OptionSpec(
        .planFolder, "out", kind: .single(.directory), value: "dir",
        help: "The directory of the plan. It is created if it is missing, and must not have a plan yet."),
      .fewestShardBytes,
    ],
    shared: [Group.syncing, Group.messages, Group.general],
    examples: [
      Example(
        command: "batchproc plan --shards 64 --out /shared/plan -- hash -o data.sha256 /data",
        meaning: "Divide a manifest into 64 shards."),
      Example(
        command: "batchproc hash --plan /shared/plan --shard 7", meaning: "Process one of them."),
    ])

  static let merge = CommandSpec(
    id: .merge,
    abstract: "Join the results of all shards of a plan.",
    discussion: [
      """
      When a result is missing, cut, edited, there twice or from another plan, it is named, and nothing is written \
      (5). The output is the file that the planned command names with --output. It has the same bytes as when that \
      command runs on one machine. If another user made the plan, --output and --force count only on the command line \
      of merge. compress, decompress, test, and run with outputs print nothing: for them a line for each file is \
      written, and only with -o. Warnings and errors of the shards are repeated in the order of the tree, and the \
      status is that of a run on one machine.
      """
    ],
    operands: [Operand(name: "dir", repeats: false, help: "The directory of the plan.")],
    own: [
      OptionSpec(
        .output, "output", short: "o", kind: .single(.file), value: "file",
        help:
          "Write to this file, not to the one that the plan names; - is standard output."),
      OptionSpec(.force, "force", help: "Replace an output that exists.").inPlans(.chosenByShard),
      OptionSpec(
        .allowMissing, "allow-missing",
        help: "Write the existing results, and end with 3 when one is missing or not valid."),
      OptionSpec(
        .removeParts, "remove-parts",
        help: "Remove the plan and the results when the output is on the disk."),
    ],
    shared: [Group.syncing, Group.messages, Group.general],
    examples: [
      Example(
        command: "batchproc merge /shared/plan", meaning: "Write the output that the plan names.")
    ])

  static let submit = CommandSpec(
    id: .submit,
    abstract: "Run a command as jobs of a scheduler.",
    discussion: [
      """
      Three jobs are printed as a script of bash: one that plans, an array of tasks with a shard each, and one that \
      merges when all tasks have ended, with whatever status. The script can be kept, changed and run by itself.
      """
    ],
    operands: [
      Operand(name: "command", repeats: true, help: "The command with its options, after a '--'.")
    ],
    own: [
      OptionSpec(.slurm, "slurm", help: "For Slurm, by sbatch; there is no other scheduler yet."),
      .shards,
      OptionSpec(
        .planFolder, "dir", kind: .single(.directory), value: "dir", default: "batchproc-plan",
        help: "The directory of the plan, on a file system that all nodes share."),
      .fewestShardBytes,
      OptionSpec(
        .sbatch, "sbatch", kind: .repeatable(.glob), value: "option",
        help: "An option for sbatch, for all three jobs: --sbatch=--partition=long."),
      OptionSpec(
        .submitNow, "run", help: "Run the script; the numbers of the jobs go to standard error."),
      OptionSpec(.wait, "wait", help: "Wait for the last job, and end with its status."),
    ],
    shared: [Group.messages, Group.general],
    examples: [
      Example(
        command:
          "batchproc submit --slurm --shards 64 --run -- archive -o /nfs/a.tar.zst /nfs/a",
        meaning: "Archive a tree on as many nodes as are free.")
    ])

  static let status = CommandSpec(
    id: .status,
    abstract: "Show how far the shards of a plan are.",
    discussion: [
      """
      A line for each shard: waiting, running on a node, stopped (its task ended without a result), failed with its last \
      error, or done; then the totals. It can be asked at any time.
      """
    ],
    operands: [Operand(name: "dir", repeats: false, help: "The directory of the plan.")],
    own: [OptionSpec(.json, "json", help: "Write results as JSON lines.").inPlans(.refused)],
    shared: [Group.general],
    examples: [
      Example(
        command: "batchproc status /shared/plan", meaning: "Show what is done and what is left.")
    ])
}

extension OptionSpec {
  static let shards = OptionSpec(
    .shards, "shards", kind: .single(.number(1...ShardPlan.mostShards)), value: "n",
    help: "The greatest number of shards.")

  static let fewestShardBytes = OptionSpec(
    .fewestShardBytes, "min-shard-bytes", kind: .single(.size(minimum: 1)), value: "size",
    help: "Make fewer shards when a shard would have less content than this.")

  /// For commands that can be divided.
  static let plan = OptionSpec(
    .plan, "plan", kind: .single(.directory), value: "dir",
    help: """
      Process one shard of the plan in this directory, and write its result there. Options that the plan fixes are \
      refused. A shard that has a result is not processed again without --force.
      """
  ).inPlans([.chosenByShard, .refused])

  /// For commands without another use of it.
  static let forceShard = OptionSpec(
    .force, "force", help: "With --plan: process a shard again that has a result."
  ).inPlans(.chosenByShard)

  static let shard = OptionSpec(
    .shard, "shard", kind: .single(.index), value: "i",
    help: """
      The number of the shard, from 0. auto takes it from SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, PARALLEL_SEQ \
      (less 1) or OMPI_COMM_WORLD_RANK.
      """
  ).inPlans([.chosenByShard, .refused])
}
