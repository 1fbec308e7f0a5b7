import BatchCore
import BatchOutputs

extension CommandSpec {
  static let drill = CommandSpec(
    id: .drill,
    abstract: "Restore a sample of a snapshot and compare it.",
    discussion: [
      """
      A sample of the files is restored into a temporary directory below TMPDIR, and compared with the manifest: bytes, sizes, \
      times, modes. Each drill goes on where the one before ended, so that a cycle covers all files. Files that do \
      not come back as they were are named (4). Archives in which a drill found damage do not count as verified \
      when 'prune' keeps the newest verified snapshot, until a drill finds those files whole. Files for which the \
      temporary directory has no room are named, and the status is 5.
      """
    ],
    operands: [Operand(name: "directory", repeats: false, help: "The directory of the snapshots.")],
    own: [
      .setName(help: "The set. Needed when the directory has several."),
      .at,
    ] + OptionSpec.seriesChoice + [
      .lockWait,
      OptionSpec(
        .sample, "sample", kind: .single(.share), value: "share", default: "5%",
        help: "The share of the files, and of the bytes, to restore."),
      OptionSpec(.all, "all", help: "Restore all files."),
      OptionSpec(
        .timeBudget, "time-budget", kind: .single(.duration), value: "time",
        help: "Stop after this time (20). The next drill continues from there."),
      OptionSpec(
        .againstLive, "against-live",
        help: """
          Also read the live files that still have the recorded size and time, and name those whose bytes differ \
          (4).
          """),
      .maxLevels,
    ] + OptionSpec.opening,
    shared: [Group.reading[0], Group.syncing] + Group.readingRun[1...],
    examples: [
      Example(
        command: "batchproc drill --sample 5% --time-budget 2h /mnt/backups",
        meaning: "Every week: check that the backup can be restored.")
    ])

  static let schedule = CommandSpec(
    id: .schedule,
    abstract: "Print or install a nightly backup for cron or systemd.",
    discussion: [
      """
      Takes the options of 'backup', or a profile, and prints a file for cron, or units for systemd: a backup every \
      night, a drill every Sunday two and a half hours later, and six hours after each backup 'snapshots --max-age \
      26h', which fails when there is no new snapshot. Without a --keep option 14 daily, 8 weekly and 12 monthly \
      snapshots stay. Nothing is written without --write or --enable. Values from the configuration and the \
      environment are not copied into the files: the backup reads them when it runs.
      """,
      """
      A unit that fails starts batchproc-failed@.service, which mails the last lines of its journal to root by \
      sendmail; change it to what reaches you. For a set that is encrypted for a recipient there is no drill, since \
      a drill needs the identity.
      """,
    ],
    operands: [Operand(name: "source", repeats: true, help: "Files and directories to back up.")],
    own: [
      OptionSpec(.cron, "cron", help: "Make a file for /etc/cron.d."),
      OptionSpec(.systemd, "systemd", help: "Make services and timers."),
      OptionSpec(
        .startAt, "at", kind: .single(.clock), value: "time", default: "02:15",
        help: "When the backup begins, every day by the local clock."),
      OptionSpec(
        .profile, "profile", kind: .single(.glob), value: "name",
        help: "Back up with this profile of the configuration, which the scheduled command names."),
      OptionSpec(
        .writeTo, "write", kind: .single(.directory), value: "dir",
        help:
          """
          Write the files into this directory. An existing file with other content is kept, unless --force is \
          given.
          """),
      OptionSpec(
        .enable, "enable",
        help: """
          Write the files (without --write into /etc/systemd/system or /etc/cron.d) and start the timers of systemd. \
          cron needs no start.
          """),
    ] + CommandSpec.backup.own.filter { $0.id != .profile },
    shared: CommandSpec.backup.shared.map { group in
      CommandSpec.Group(title: group.title, options: group.options.filter { $0.id != .dryRun })
    },
    examples: [
      Example(
        command: "batchproc schedule --systemd --at 02:30 --to /mnt/backups --name home /home",
        meaning: "Print the units of a nightly backup of /home."),
      Example(
        command: "batchproc schedule --cron --profile nightly --enable",
        meaning: "Have cron run the backup of a profile."),
    ],
    // A schedule contains only the command line.
    readsConfiguration: false, operandOptions: [.filesFrom, .files0From, .profile])

  static let audit = CommandSpec(
    id: .audit,
    abstract: "Compare any two of a tree, a manifest, a snapshot and an archive.",
    discussion: [
      """
      The first one is the reference. Every file is read, and what differs in the other one is named on standard \
      output as one of: MISSING; NEW; MOVED, the bytes of a missing file under a new name; COPIED, those of a file that \
      is still there; TYPE, of another kind; MODIFIED, other bytes; ROT, other bytes while size and time of \
      modification are the same: probably the disk corrupted the file; METADATA, another mode, owner, group \
      or link target; TOUCHED, another time and the same bytes.
      """,
      """
      Each of the two is a directory; a manifest of the forms that 'hash' writes (gnu, bsd, hashdeep, mtree and \
      json); a snapshot, which is named by its manifest in the directory of the set; or an archive. What only one of \
      them records is not compared: a manifest of digests has no directories and links, and where it has no times, \
      ROT cannot be distinguished from MODIFIED. When all names on one side begin with the name of a directory, as after \
      'hash photos', and the other side is that directory, this name is ignored.
      """,
      """
      With three or more paths the first one is a manifest. Its names below the other paths are compared with these \
      paths.
      """,
    ],
    operands: [
      Operand(
        name: "reference", repeats: false,
        help: "A manifest, directory or archive; - is a manifest on standard input."),
      Operand(
        name: "other", repeats: true,
        help: "What it is compared with. The default is the current directory.", isOptional: true),
    ],
    own: [
      OptionSpec(
        .update, "update",
        help: """
          Afterwards, replace the manifest by one of the directory as it is now, in the same form. This is not done \
          when there is ROT, when something could not be read, or when a directory that it names has no file left.
          """)
    ] + OptionSpec.opening,
    shared: [Group.scheduling, Group.choosing, Group.writing, Group.runReporting, Group.general],
    examples: [
      Example(
        command: "batchproc audit photos.sha256 photos", meaning: "Compare with what 'hash photos' wrote."),
      Example(command: "batchproc audit /srv/photos /mnt/copy/photos", meaning: "Compare two directories."),
      Example(
        command: "batchproc audit --update photos.mtree /srv/photos",
        meaning: "Update the manifest, unless a file has rotted."),
    ])
}
