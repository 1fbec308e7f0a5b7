extension CommandSpec {
  static let copy = CommandSpec(
    id: .copy,
    abstract: "Copy the snapshots of a set to another place.",
    discussion: [
      """
      The remote is a directory, or a remote of rclone (NAME:path, from the configuration of rclone). Only complete \
      snapshots are copied, archives first and the manifest last: when its manifest is there, a snapshot is there. A \
      file that is there with the same size is not copied again, so that an interrupted copy can go on. Encrypted \
      files are copied without being decrypted.
      """,
      """
      An archive that was compacted here or there ('prune') is not the same file at both places. It counts as the same if \
      the copy has all that the snapshots here need. A compacted archive never replaces a copy that has more. After \
      old copies were removed from a directory, its archives are compacted by the manifests there; those of a remote of \
      rclone are not.
      """,
      """
      'snapshots', 'restore' and 'drill' take a remote in the place of the directory of the snapshots. A directory \
      of copies is a set like any other.
      """,
    ],
    operands: [
      Operand(name: "directory", repeats: false, help: "The directory of the snapshots."),
      Operand(name: "remote", repeats: false, help: "Where they are copied to.", isOptional: true),
    ],
    own: [
      .setName(help: "The set. Needed when the directory has several."),
      OptionSpec(
        .checksum, "checksum",
        help: "Read files that are there already, and copy those again whose bytes differ."),
      .plain(
        """
        Also copy snapshots that are not encrypted although others of the set are. Without this option they are \
        named and left out (3), unless they are there already.
        """),
      OptionSpec(
        .rate, "rate", kind: .single(.size(minimum: 1)), value: "size",
        help: "Read at most this many bytes a second, such as 5M. rclone gets this limit too."),
    ] + OptionSpec.copyParity + OptionSpec.copying + OptionSpec.compacting + [.groupBy, .lockWait],
    shared: [Group.syncing, Group.reporting, Group.general],
    examples: [
      Example(
        command: "batchproc copy /mnt/backups offsite:server1",
        meaning: "Copy new snapshots to a remote of rclone."),
      Example(
        command: "batchproc copy --copy-keep-daily 30 /mnt/backups /media/usb/backups",
        meaning: "Copy to another disk, and keep a month there."),
    ])
}

extension OptionSpec {
  /// Which copies are kept.
  static let copying: [OptionSpec] = [
    keeping(
      .copyKeepLast, "last", "Keep this many copies, the newest ones; the last verified one always stays."),
    keeping(.copyKeepDaily, "daily", "Keep the newest copy of this many days."),
    keeping(.copyKeepWeekly, "weekly", "Keep the newest copy of this many weeks."),
    keeping(.copyKeepMonthly, "monthly", "Keep the newest copy of this many months."),
    keeping(.copyKeepYearly, "yearly", "Keep the newest copy of this many years."),
    OptionSpec(
      .appendOnly, "append-only", help: "Do not fail when the remote refuses to remove old copies."),
  ]

  private static func keeping(_ id: OptionID, _ word: String, _ help: String) -> OptionSpec {
    OptionSpec(id, "copy-keep-\(word)", kind: .single(.number(1...1_000_000)), value: "n", help: help)
  }
}
