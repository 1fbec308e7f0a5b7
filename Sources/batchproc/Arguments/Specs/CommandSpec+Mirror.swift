import BatchCore

extension CommandSpec {
  static let mirror = CommandSpec(
    id: .mirror,
    abstract: "Copy a tree on all cores, with digests from the same read.",
    discussion: [
      """
      A source without a slash at its end becomes a directory of the target; with a slash at its end its contents are \
      meant. Copied are files with their holes, directories, symbolic links as they are, hard links within the sources, \
      FIFOs, owner, mode, times, access control lists and extended attributes. Devices need --devices. What the target \
      cannot store is named once for each kind.
      """,
      """
      A file is up to date when size and time are equal; then only owner, mode and attributes that differ are set. Each \
      file is written under a temporary name and renamed when it is whole, so a run that was stopped can be started \
      again. A file of the target that has several names is never changed in place. A directory takes the place of a file, \
      or the reverse, only with --delete.
      """,
      """
      With --output the digests of all files are written as by sha256sum, with names below the target. They come from the \
      read that copies; digests of unchanged files come from the cache of digests ('batchproc hash --cache'), or the \
      files are read.
      """,
    ],
    operands: [
      Operand(name: "path", repeats: true, help: "One source or more, and last the target directory.")
    ],
    own: [
      OptionSpec(
        .output, "output", short: "o", kind: .single(.file), value: "file",
        help: "Write the SHA-256 of each file to a manifest that appears when it is complete."),
      OptionSpec(
        .verify, "verify",
        help: """
          Read the files of the target back after their cache was dropped, and compare them with what was read from the \
          source. A file that differs is named (4).
          """),
      OptionSpec(
        .checksum, "checksum", short: "c",
        help: "Compare files of equal size by their bytes, and not by their times."),
      OptionSpec(
        .update, "update", short: "u", help: "Keep files of the target that are newer than their source."),
      OptionSpec(.ignoreExisting, "ignore-existing", help: "Keep all files that the target has."),
      OptionSpec(
        .delete, "delete",
        help: """
          When everything is copied, remove from the copied directories what the source does not have. Refused (1) after \
          any failure, for an empty source, and if more than half of the files would go. Names that are left out by a \
          filter are kept.
          """
      ).inPlans(.refused),
      OptionSpec(
        .mostDeleted, "max-delete", kind: .single(.number(0...1_000_000_000_000)), value: "n",
        help: "With --delete: remove up to n files, whatever share they are, and refuse (1) to remove more."
      ).inPlans(.refused),
      OptionSpec(
        .deleteExcluded, "delete-excluded",
        help: "With --delete: also remove names that a filter leaves out."
      ).inPlans(.refused),
      OptionSpec(
        .linkDest, "link-dest", kind: .repeatable(.directory), value: "dir",
        help: """
          Make a file that is equal in this directory (size, time, owner, mode, attributes) a further name of that one, \
          in place of a copy. A relative path begins in the target. May be given several times.
          """),
      OptionSpec(
        .devices, "devices",
        help: "Copy character and block devices. Without this they are named and left out."),
      .plan, .shard,
      OptionSpec(
        .force, "force", help: "Replace the file of --output, and that of --report whatever it is."
      ).inPlans(.chosenByShard),
    ],
    shared: [
      Group.scheduling,
      Group(
        title: Group.selection.title,
        options: Group.selection.options.filter { ![.filesFrom, .files0From].contains($0.id) }),
      Group.policy, Group.runReporting, Group.general,
    ],
    examples: [
      Example(command: "batchproc mirror /srv /mnt/new", meaning: "Copy the tree to /mnt/new/srv."),
      Example(
        command: "batchproc mirror -o SHA256SUMS /srv/ /mnt/new/srv",
        meaning: "Copy the contents of /srv, and write their digests."),
      Example(
        command: "batchproc mirror --delete --dry-run /srv /mnt/new",
        meaning: "Show what would be copied and removed."),
    ], operandOptions: [])
}
