import BatchCore
import BatchOutputs

extension CommandSpec {
  static let backup = CommandSpec(
    id: .backup,
    abstract: "Back up directory trees into a dated archive and a manifest.",
    discussion: [
      """
      A snapshot of the set NAME is two files in a directory. NAME-20261120T020000Z.tar.zst is an archive of what is \
      new or changed since the snapshot before. NAME-20261120T020000Z.manifest.zst has, compressed, a line of JSON \
      for each path that the sources had at that moment, with its SHA-256 and the archive that holds it. The archive \
      is read back and compared before it gets its name. Only their owner may read the two files. Deleted files are \
      simply not in the new manifest.
      """,
      """
      A file counts as unchanged when its size, its times of modification and status, its inode, owner and mode are \
      those of the snapshot before. Then it is not opened. Any other file is read, and its content is stored only if \
      the snapshot before does not have it; of a large file only the changed blocks are stored. A file whose status \
      changed shortly before a backup is read again by the next one.
      """,
      """
      Each path of --files-from is a source of its own. A path that the list does not name any more is not in the \
      next snapshot. --dry-run names what would be archived.
      """,
      """
      A source that is a symbolic link is followed, and has the name of the link in the snapshot; links below a source \
      are stored as links. A source that is missing, that is empty while the snapshot before had files of it, that is \
      not a directory any more, or that is on another file system with other files, ends the run before anything is written. So does a \
      mount point below a source that had files and is empty now. So does a target that does not have the set to which \
      this machine backed up before: probably the disk is not mounted. So does a target whose parent is missing, or \
      that is below a mount point of /etc/fstab or systemd at which nothing is mounted. --init begins a set there. A \
      target below a source is possible: files of sets in it are not archived. Only one run at a time may write to a set; another one ends with 11.
      """,
      """
      With --encrypt-to both files are encrypted in the format of age and have the suffix .age: this machine can \
      write the set, but cannot read it. It finds changes with its own copy of the last manifest. When that copy is \
      missing or is not the right one, the snapshot is a full one. NAME-20261120T020000Z.companion says in plain \
      text which archives a snapshot needs, and the sizes and digests of the encrypted files.
      """,
    ],
    operands: [Operand(name: "source", repeats: true, help: "Files and directories.")],
    own: [
      OptionSpec(
        .profile, "profile", kind: .repeatable(.glob), value: "name",
        help: """
          Take options and sources from this profile of the configuration. Several profiles are backed up one after \
          the other, also when one fails.
          """),
      OptionSpec(
        .target, "to", kind: .single(.directory), value: "dir",
        help: "The local directory of the snapshots."),
      OptionSpec(
        .initialize, "init",
        help: """
          Begin a set here: create missing parents, and accept that the set of earlier backups is not there.
          """),
      .setName(default: "backup", help: "The name of the set. The names of its files begin with it."),
      OptionSpec(
        .fullEvery, "full-every", kind: .single(.interval), value: "n", default: "never",
        help: "Archive everything in every n-th snapshot, or never again after the first one."),
      OptionSpec(.full, "full", help: "Archive everything now."),
      OptionSpec(
        .checksum, "checksum",
        help: """
          Also read files that seem unchanged. One whose bytes have changed is named as ROT, the snapshot keeps the \
          bytes from before, nothing is removed, and the status is 4.
          """),
      OptionSpec(
        .acceptRot, "accept-rot",
        help: "With --checksum: archive the bytes that a file has now. The status is 4 all the same."),
      OptionSpec(
        .level, "level", short: "l", kind: .single(.number(1...22)), value: "n", default: "3",
        help: "How hard to compress."),
      OptionSpec(
        .verify, "verify", kind: .invertible(initially: true), default: "--verify",
        help: """
          Read the archive back before it gets its final name, and compare it with the archived data.
          """
      ).inPlans(.refused),
    ] + OptionSpec.parity + [
      OptionSpec(
        .allowEmpty, "allow-empty",
        help: "Accept sources and mount points that are empty, or not what they were before."
      ),
      OptionSpec(
        .allowOtherFileSystem, "allow-other-file-system",
        help: """
          Accept sources that are on another file system than before and have none of the files of the snapshot \
          before.
          """),
      .lockWait,
    ] + Group.retention.options + [
      OptionSpec(
        .pruneFirst, "prune-first",
        help: """
          Remove what the rules will not keep before anything is archived, for a disk with little room. The newest \
          snapshot, the newest one without failures and the newest verified one stay until the new one exists.
          """)
    ] + OptionSpec.compacting + [
      OptionSpec(
        .checkpoint, "checkpoint", kind: .single(.step), value: "size|time", default: "32G",
        help: """
          Keep what was done each time this much was read, as a snapshot that is not complete and that a later run \
          continues. With a time such as 15m the archives differ from run to run.
          """),
      OptionSpec(
        .timeBudget, "time-budget", kind: .single(.duration), value: "time",
        help: "Stop after this time with what was done (20). The next run continues from there."),
      OptionSpec(
        .before, "before", kind: .single(.glob), value: "command",
        help: "Run this with /bin/sh first; if it fails, no backup is made (1)."),
      OptionSpec(
        .after, "after", kind: .single(.glob), value: "command",
        help: """
          Run this at the end, with the outcome in its environment and as JSON on its standard input.
          """),
      OptionSpec(
        .onFailure, "on-failure", kind: .single(.glob), value: "command",
        help: "Run this before --after if the backup failed."),
      OptionSpec(
        .hookTimeout, "hook-timeout", kind: .single(.duration), value: "time", default: "1h",
        help: "Kill these commands, and the processes that they started, after this time."),
      OptionSpec(
        .metrics, "metrics", kind: .single(.file), value: "file",
        help: "Write the outcome to a file for the text file collector of Prometheus."),
      OptionSpec(
        .notify, "notify", kind: .single(.glob), value: "url",
        help: """
          Tell a monitoring service such as healthchecks: request URL/start at the beginning, and at the end URL, or \
          URL/fail when the status is not 0. 'curl' makes each request, within 10 s; when it fails there is a \
          warning.
          """),
    ] + OptionSpec.sealing + [
      .plain(
        """
        Take a snapshot that is not encrypted although the newest one of the set is, and copy it too. Without this \
        option such a run ends with 64.
        """),
      OptionSpec(
        .copyTo, "copy-to", kind: .repeatable(.file), value: "remote",
        help: """
          Then copy the set to this directory or rclone remote, as 'copy' does. When that fails the status is 3. \
          It may be given several times: a --copy-keep option or --append-only after a place holds for this place \
          alone, before the first one for all, and each place is copied to even if another one fails.
          """),
    ] + OptionSpec.copying,
    shared: Group.common,
    examples: [
      Example(
        command: "batchproc backup --to /mnt/backups --name home /home", meaning: "Take a snapshot of /home."),
      Example(
        command: "batchproc backup -q --to /mnt/backups --keep-daily 14 /etc /srv",
        meaning: "From cron: print only errors, and remove snapshots that are too old."),
    ], runsProfiles: true)

  static let snapshots = CommandSpec(
    id: .snapshots,
    abstract: "List snapshots, find files in them, and compare them.",
    discussion: [
      """
      A row has the id of the snapshot, the local time, 'full' or the number of the increment, the number of files \
      and their bytes, the size of its archive, 'verified', the number of failures, the machine and the sources. \
      On a terminal, machine and sources are a heading above the rows of their series. An archive that is missing, or whose size has changed, is named. \
      When the directory has several sets, all are listed: on a terminal each below its name, elsewhere with the \
      name at the start of each row.
      """,
      """
      --find prints a row for each matching path in each snapshot: the id, a word, size and time, the start of the \
      SHA-256, and the path. The word is 'first' in the oldest snapshot, 'new' when the path is not in the snapshot \
      before, 'changed' when its content is not the same as there, 'touched' when only time, mode or owner differ, \
      or 'same'. A glob without a slash is compared with the last name of a path. A glob with a slash is compared \
      with the end of the path, or, when it begins with a slash, with the whole path. '*' and '?' match slashes too. A \
      path that is named by exactly this text is found as well.
      """,
      """
      --diff compares two snapshots as 'audit' does, and ends with 4 when they differ.
      """,
    ],
    operands: [
      Operand(name: "directory", repeats: false, help: "The directory of the snapshots."),
      Operand(
        name: "glob", repeats: true,
        help: "The files that --list lists; the default is all. With --diff, the second snapshot.",
        isOptional: true),
    ],
    own: [
      .setName(help: "The set. The default is all sets of the directory."),
      .at, .escaped, .zero,
    ] + OptionSpec.seriesChoice + [
      OptionSpec(
        .find, "find", kind: .single(.glob), value: "glob",
        help: "Print the snapshots that have a matching path, and where the path changed."),
      OptionSpec(
        .listFiles, "list", kind: .single(.glob), value: "id",
        help: "List the files of the snapshot of this id or time, or only those that the globs name or match."
      ),
      OptionSpec(
        .longRows, "long", short: "l", help: "With --list: show mode, owner, size and time, as tar tv does."),
      OptionSpec(
        .compareSnapshots, "diff", kind: .single(.glob), value: "id",
        help: """
          Compare the snapshot of this id or time with that of the next argument, or with the newest one.
          """),
      OptionSpec(
        .digests, "digests",
        help: "Print the files of one snapshot as sha256sum does: the newest one, or that of --at."),
      OptionSpec(
        .maxAge, "max-age", kind: .single(.age), value: "age",
        help: """
          For monitoring: end with 4 when the newest snapshot of a series is older than this, such as 26h or '2 days', or in \
          the future, or when there is none. A series whose sources a newer one has too does not count.
          """),
      OptionSpec(
        .complete, "complete", help: "With --max-age: look only at snapshots without failures."),
      OptionSpec(
        .usage, "usage",
        help: """
          Show also how many bytes of the archives only this snapshot needs. Reads all manifests, and the index of each \
          archive; encrypted sets need their key.
          """),
      .groupBy,
    ] + OptionSpec.opening,
    shared: Group.reading,
    examples: [
      Example(command: "batchproc snapshots /mnt/backups", meaning: "List what can be restored."),
      Example(
        command: "batchproc snapshots /mnt/backups --find '*.odt'",
        meaning: "Show in which snapshots such files are, and when they changed."),
      Example(
        command: "batchproc snapshots -q --max-age 26h /mnt/backups",
        meaning: "From monitoring: fail when the nightly backup is missing."),
    ])

  static let restore = CommandSpec(
    id: .restore,
    abstract: "Restore a snapshot, or some of its files.",
    discussion: [
      """
      Everything comes back as it was when the snapshot was made. Files that had been deleted by then do not come \
      back. The paths are those of the sources without the leading slash. A glob that is exactly a path of the snapshot \
      selects that path. Otherwise it is a pattern of gitignore(5), and '*' and '?' match slashes too, as in tar \
      --wildcards; a directory stands for all that is in it. If only some names of a file with hard links are chosen, only \
      these are restored, as names of one file.
      """,
      """
      New directories on the way to a chosen path get the owner, mode and time that they have in the snapshot. New \
      directories above a source, which are not in the snapshot, are accessible to their owner only. Directories that \
      exist are not changed in either case.
      """,
      """
      If the set has snapshots of several machines or sources and it is not clear which ones are meant, --source, \
      --host or --at must choose.
      """,
      """
      Archives are not removed while they are read. A file that exists in the target directory is up to date when it has \
      the recorded content (where no digest is recorded: the size and time), so that a restore can be repeated; any other \
      file is kept and named.
      """,
      """
      When an archive is damaged or missing, everything that is whole is restored, the other files are named, and the \
      status is 5.
      """,
    ],
    operands: [
      Operand(
        name: "directory", repeats: false,
        help: "The directory of the snapshots, or a remote that 'copy' filled; not with --from.",
        isOptional: true),
      Operand(
        name: "glob", repeats: true, help: "The files to restore. The default is all.", isOptional: true),
    ],
    own: [
      OptionSpec(
        .copyFrom, "from", kind: .single(.file), value: "remote",
        help: """
          The directory of the snapshots, or a remote that 'copy' filled; all operands are globs then.
          """),
      OptionSpec(
        .directory, "directory", short: "C", kind: .single(.directory), value: "dir",
        help: "Restore below this directory; the last folder of the path is created."),
      .escaped, .stripComponents,
      .setName(help: "The set. Needed when the directory has several."),
      .at,
    ] + OptionSpec.seriesChoice + [
      .lockWait,
      .overwrite,
      OptionSpec(.force, "force", help: "The same as --overwrite always. A report is replaced too.").inPlans(
        .chosenByShard),
      OptionSpec(
        .sameOwner, "same-owner", kind: .invertible(initially: true), default: "--same-owner as root",
        help: "Restore the owners of files."),
      .numericOwner,
      OptionSpec(
        .delete, "delete",
        help: """
          When everything is restored, remove what the snapshot does not have, below its sources and the chosen paths alone. \
          Stays: what the backup left out by its options, caches, other file systems, files of sets. Refused (64) for an \
          incomplete or damaged snapshot; after any failure, and if more than half of the files below a source would go, \
          nothing is removed (1). See it first with --dry-run.
          """),
      OptionSpec(
        .mostDeleted, "max-delete", kind: .single(.number(0...1_000_000_000_000)), value: "n",
        help: "With --delete: remove up to n files, whatever share they are, and refuse (1) to remove more."),
      OptionSpec(.strict, "strict", help: "Stop at the first damage; no file after it is restored."),
      OptionSpec(
        .keepGoing, "keep-going",
        help: "Accepted for older scripts: without --strict a restore always continues after damage."
      ).deprecated("leave it out, because a restore continues after damage without it"),
      .maxLevels,
    ] + OptionSpec.opening,
    shared: [Group.reading[0], Group.extracting] + Group.readingRun[1...],
    examples: [
      Example(
        command: "batchproc restore /mnt/backups -C /", meaning: "Restore the newest snapshot in its place."),
      Example(
        command: "batchproc restore /mnt/backups --at 2026-11-20 -C /tmp/old home/anna/letters",
        meaning: "Restore one directory as it was that day."),
      Example(
        command: "batchproc restore --delete --overwrite always --dry-run /mnt/backups -C /",
        meaning: "Show what makes the directories equal to the snapshot."),
    ])

  static let prune = CommandSpec(
    id: .prune,
    abstract: "Remove snapshots that no rule keeps.",
    discussion: [
      """
      The rules mean the same as in 'restic forget': --keep-daily 7 keeps the newest snapshot of each of the last 7 \
      days that have one, in local time. A snapshot stays when any rule keeps it. An archive is removed when no \
      snapshot that stays needs it.
      """,
      """
      The snapshots of one machine with the same sources are a series, and the rules count each series by itself. \
      In each series the newest snapshot that was verified, and the newest one without failures, always stay. A \
      snapshot whose time is in the future stays, and no rule counts it.
      """,
      """
      An archive whose snapshot was removed holds what later snapshots need. When less than half of it is needed, it is       replaced by a smaller archive with the same name, which is read back and compared before. This needs space for       the smaller archive beside the old one, and for an encrypted set a key. Without space, or when the archive is       damaged, a line says so, and the archive stays as it is.
      """,
    ],
    operands: [Operand(name: "directory", repeats: false, help: "The directory of the snapshots.")],
    own: [.setName(help: "The set. Needed when the directory has several.")] + Group.retention.options + [
      OptionSpec(
        .unlisted, "unlisted",
        help: """
          Also remove archives without a manifest that no snapshot needs. Without a --keep option all snapshots stay.
          """)
    ] + OptionSpec.compacting + [
      .rate, .lockWait,
      OptionSpec(
        .dryRun, "dry-run", short: "n",
        help: """
          Print which snapshots would stay and why, which would be removed, and how much smaller archives would become. \
          Change nothing.
          """
      ).inPlans(.refused),
    ] + OptionSpec.opening,
    shared: [Group.syncing, Group.reporting, Group.general],
    examples: [
      Example(
        command: "batchproc prune -n --keep-daily 14 --keep-weekly 8 /mnt/backups",
        meaning: "Print which snapshots would be kept, and why.")
    ])
}

extension CommandSpec.Group {
  /// How events are handled, and how outputs are written.
  static let writing = CommandSpec.Group(
    title: policy.title, options: policy.options.filter { [.on, .fsync].contains($0.id) })

  static let retention = CommandSpec.Group(
    title: "RETENTION",
    options: [
      counting(.keepLast, "last", "Keep this many snapshots, the newest ones."),
      counting(.keepHourly, "hourly", "Keep the newest snapshot of this many hours."),
      counting(.keepDaily, "daily", "Keep the newest snapshot of this many days."),
      counting(.keepWeekly, "weekly", "Keep the newest snapshot of this many weeks."),
      counting(.keepMonthly, "monthly", "Keep the newest snapshot of this many months."),
      counting(.keepYearly, "yearly", "Keep the newest snapshot of this many years."),
      OptionSpec(
        .keepWithin, "keep-within", kind: .single(.span), value: "span",
        help: """
          Keep snapshots that are younger than the newest one by less than this, such as 30d, '2 weeks' or 1y6m. Here m \
          is a month.
          """),
      .groupBy,
    ])

  private static func counting(_ id: OptionID, _ word: String, _ help: String) -> OptionSpec {
    OptionSpec(id, "keep-\(word)", kind: .single(.number(1...1_000_000)), value: "n", help: help)
  }
}

extension OptionSpec {
  static func setName(default name: String? = nil, help: String) -> OptionSpec {
    OptionSpec(.setName, "name", kind: .single(.glob), value: "name", default: name, help: help)
  }

  /// Which archives are replaced by smaller ones after old snapshots were removed.
  static let compacting = [
    OptionSpec(
      .minUsed, "min-used", kind: .single(.percentage), value: "percent", default: "50%",
      help: """
        After old snapshots were removed, replace an archive without a manifest by a smaller one if less than this part of \
        it is needed. 0 replaces none.
        """),
    OptionSpec(
      .compact, "compact", kind: .invertible(initially: true), default: "--compact",
      help: "Whether such archives are replaced."),
  ]

  static let groupBy = OptionSpec(
    .groupBy, "group-by",
    kind: .single(
      .choice(
        Series.Grouping.allCases.map(\.rawValue),
        aliases: [
          .init("sources,host", "host,sources"), .init("host,paths", "host,sources"),
          .init("paths", "sources"),
        ])), value: "facts", default: "host,sources",
    help: "What makes a series: snapshots with the same facts are one, and rules count each series by itself."
  )

  /// Which of several series is meant.
  static let seriesChoice = [
    OptionSpec(
      .source, "source", kind: .single(.file), value: "path",
      help: "Choose among the snapshots that have this source."),
    OptionSpec(
      .host, "host", kind: .single(.glob), value: "name",
      help: "Choose among the snapshots of the machine with this host name."),
  ]

  static let at = OptionSpec(
    .at, "at", kind: .single(.glob), value: "time|id",
    help: """
      Choose a snapshot by its id, by the beginning of its id, or by a time, which means the newest snapshot up to \
      then: latest, '2026-01-31 12:30', 2026-01-31 (its last moment), yesterday, 2h or '3 days' (ago), @1767225600. \
      Times are local, as 'snapshots' prints them, unless they end in Z or a difference such as +01:00.
      """)

  static let lockWait = OptionSpec(
    .lockWait, "lock-wait", kind: .single(.duration), value: "time", default: "0s",
    help: "Wait at most this time for another run that has locked the set.")
}
