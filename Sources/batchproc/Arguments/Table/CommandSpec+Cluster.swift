import BatchCore

extension CommandSpec {
  static let plan = CommandSpec(
    id: .plan,
    abstract: "Divide a command among several machines.",
    discussion: [
      """
      The trees are walked once, and the entries are written into a directory that all machines share, with ranges of \
      equal cost: shards. Each shard is then processed by the command itself, with --plan and --shard, on any machine and \
      in any order; 'batchproc merge' joins the results, which are the bytes of a run on one machine. Commands that can \
      be divided: hash, check, test, archive with a format of the tar family, and compress and decompress with one path.
      """
    ],
    operands: [
      Operand(name: "command", repeats: true, help: "The command with its options, behind a '--'.")
    ],
    own: [
      .shards,
      OptionSpec(
        .planFolder, "out", kind: .single(.directory), value: "dir",
        help: "The directory of the plan, made where it is missing; it must have no plan."),
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
      A result that is missing, cut, edited, there twice or of another plan is named, and nothing is written (5). The \
      output is the one that the planned command names with --output, and has the bytes that this command writes on one \
      machine; of compress, decompress and test, which print nothing, a line for each file is written with -o only. Warnings \
      and errors of the shards are repeated in the order of the tree, and the status is that of a run on one machine.
      """
    ],
    operands: [Operand(name: "dir", repeats: false, help: "The directory of the plan.")],
    own: [
      OptionSpec(
        .output, "output", short: "o", kind: .single(.file), value: "file",
        help:
          "Write to this file in the place of the one that the plan names; - is standard output."),
      OptionSpec(.force, "force", help: "Replace an output that exists."),
      OptionSpec(
        .allowMissing, "allow-missing",
        help: "Write what there is, and end with 3 where a result does not count."),
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
      merges when all tasks have ended, however they did. The script can be kept, changed and run by itself.
      """
    ],
    operands: [
      Operand(name: "command", repeats: true, help: "The command with its options, behind a '--'.")
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
      OptionSpec(.wait, "wait", help: "Wait for the last job, and end as it does."),
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
    own: [OptionSpec(.json, "json", help: "Write results as JSON lines.")],
    shared: [Group.general],
    examples: [
      Example(
        command: "batchproc status /shared/plan", meaning: "Show what is done and what is left.")
    ])
}

extension OptionSpec {
  static let shards = OptionSpec(
    .shards, "shards", kind: .single(.number(1...ShardPlan.mostShards)), value: "n",
    help: "How many shards there are at most.")

  static let fewestShardBytes = OptionSpec(
    .fewestShardBytes, "min-shard-bytes", kind: .single(.size(minimum: 1)), value: "size",
    help: "Make fewer shards where they would have less content than this.")

  /// Of commands that can be divided.
  static let plan = OptionSpec(
    .plan, "plan", kind: .single(.directory), value: "dir",
    help: """
      Process a shard of the plan in this directory; what the plan fixes cannot be given. Its result is a file there. A \
      shard that has a result is done, and is processed again with --force only.
      """)

  /// Of commands that have no other use for it.
  static let forceShard = OptionSpec(
    .force, "force", help: "With --plan: process a shard again that has a result.")

  static let shard = OptionSpec(
    .shard, "shard", kind: .single(.index), value: "i",
    help: """
      Which one, from 0; auto takes SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, PARALLEL_SEQ less 1, or \
      OMPI_COMM_WORLD_RANK.
      """)
}
