extension CommandSpec {
  static let copy = CommandSpec(
    id: .copy,
    abstract: "Copy the snapshots of a set to another place.",
    discussion: [
      """
      The remote is a directory, or what rclone calls one (NAME:path, by its own configuration). Complete snapshots alone are \
      copied, archives first and the manifest last: a snapshot is there when its manifest is. What is there with the same size \
      is left, so that a copy that was interrupted goes on. Nothing is read that is encrypted.
      """,
      """
      'snapshots', 'restore' and 'drill' take such a place for the directory of the snapshots; a directory of copies \
      is a set like any other.
      """,
    ],
    operands: [
      Operand(name: "directory", repeats: false, help: "The directory of the snapshots."),
      Operand(name: "remote", repeats: false, help: "Where they are copied to.", isOptional: true),
    ],
    own: [
      OptionSpec(
        .setName, "name", kind: .single(.glob), value: "name",
        help: "The set; needed where the directory has several."),
      OptionSpec(
        .checksum, "checksum", help: "Read files that are there, and copy those with other bytes again."),
    ] + OptionSpec.copying + [
      OptionSpec(
        .lockWait, "lock-wait", kind: .single(.duration), value: "time", default: "0s",
        help: "Wait so long for another run that has the set.")
    ],
    shared: [Group.syncing, Group.reporting, Group.general],
    examples: [
      Example(
        command: "batchproc copy /mnt/backups offsite:server1",
        meaning: "Copy what is new to a remote of rclone."),
      Example(
        command: "batchproc copy --copy-keep-daily 30 /mnt/backups /media/usb/backups",
        meaning: "Copy to another disk, and keep a month there."),
    ])
}

extension OptionSpec {
  /// Which copies stay.
  static let copying: [OptionSpec] = [
    keeping(
      .copyKeepLast, "last", "Keep this many copies, the newest ones; the last verified one always stays."),
    keeping(.copyKeepDaily, "daily", "Keep the newest copy of this many days."),
    keeping(.copyKeepWeekly, "weekly", "Keep the newest copy of this many weeks."),
    keeping(.copyKeepMonthly, "monthly", "Keep the newest copy of this many months."),
    keeping(.copyKeepYearly, "yearly", "Keep the newest copy of this many years."),
    OptionSpec(
      .appendOnly, "append-only", help: "It is no failure when the remote refuses to remove old copies."),
  ]

  private static func keeping(_ id: OptionID, _ word: String, _ help: String) -> OptionSpec {
    OptionSpec(id, "copy-keep-\(word)", kind: .single(.number(1...1_000_000)), value: "n", help: help)
  }
}
