import BatchOutputs
extension OptionSpec {
  /// Of the commands that read archives.
  fileprivate static let allFormats = OptionSpec(
    .allFormats, "all-formats",
    help:
      "Read ar, cab, iso, lha, rar and warc too, in a process of its own with limits of memory and processor time."
  )
}

extension OptionSpec {
  /// As of tar: the archive in the place of the first operand.
  fileprivate static let archiveFile = OptionSpec(
    .archiveFile, "file", short: "f", kind: .single(.file), value: "archive",
    help: "The archive; all operands are members then.")
}

extension CommandSpec {
  static let list = CommandSpec(
    id: .list,
    abstract: "List the members of an archive.",
    discussion: [
      """
      Reads tar (also compressed with gzip, zstd, xz, lz4 or bzip2), cpio, zip and 7z, whatever the file is \
      called. Control bytes in names are escaped. An archive that does not end as its format demands is \
      damaged. - reads standard input.
      """,
      """
      Of an archive with an index the list is what the index claims, and only the index is read. --no-index reads \
      the archive itself, as tar does; verify compares the two.
      """,
    ],
    operands: [
      Operand(name: "archive", repeats: false, help: "The archive; - is standard input."),
      Operand(
        name: "member-glob", repeats: true, help: "The members to list; all without it.", isOptional: true),
    ],
    own: [
      .archiveFile,
      OptionSpec(.longRows, "long", short: "l", help: "Show mode, owner, size and time, as tar tv does."),
      OptionSpec(.digests, "digests", help: "Show the SHA-256 of each file in the form of sha256sum."),
      OptionSpec(
        .index, "index", kind: .invertible(initially: true), default: "--index",
        help: "Read the index alone where there is one; without it all of the archive."),
      .allFormats,
      OptionSpec(.zero, "zero", short: "z", help: "End rows in NUL, and do not escape names."),
    ] + OptionSpec.opening,
    shared: [Group.reading[0], Group.members] + Group.reading[1...],
    examples: [
      Example(command: "batchproc list -l photos.tar.zst", meaning: "Show what is in an archive."),
      Example(
        command: "batchproc list --digests photos.tar.zst | sha256sum --check",
        meaning: "Compare an archive with the tree it was made from."),
    ])

  static let extract = CommandSpec(
    id: .extract,
    abstract: "Unpack an archive.",
    discussion: [
      """
      Members are made below one directory, whatever the archive says: paths with '..', hard links that lead \
      outside and devices are refused, each is named, and the others are extracted. Absolute names become \
      relative. A file has its name only when it is complete. Of several members of one name the last one is \
      extracted, as tar does it; --overwrite is about what was there before. Symbolic links are made as they \
      are, last of all, and nothing is written through one; --safe-links refuses those that lead outside.
      """,
      """
      A member glob is a pattern of gitignore, and '*' and '?' match slashes too, as in tar --wildcards; a directory that \
      matches stands for all that is in it. What the index \
      of an archive claims is compared with the archive: the checksum of each frame, and name, kind, size, time, \
      place and headers of each member, or with a glob those of the members that are decoded, without headers. The \
      SHA-256 of contents is compared by 'verify'.
      """,
    ],
    operands: [
      Operand(name: "archive", repeats: false, help: "The archive; - is standard input."),
      Operand(
        name: "member-glob", repeats: true, help: "The members to unpack; all without it.", isOptional: true),
    ],
    own: [
      .archiveFile,
      OptionSpec(
        .directory, "directory", short: "C", kind: .single(.directory), value: "dir", default: ".",
        help: "Unpack below this directory; the last folder of the path is created."),
      OptionSpec(
        .stripComponents, "strip-components", kind: .single(.number(0...4096)), value: "n", default: "0",
        help: "Drop this many leading names of each path."),
      OptionSpec(
        .overwrite, "overwrite", kind: .single(.choice(ReadingChoices.overwritings)), value: "when",
        default: ReadingChoices.overwritings[0],
        help: "Replace files that exist: never, where the member is newer, or always."),
      OptionSpec(.force, "force", help: "The same as --overwrite always."),
      OptionSpec(
        .keep, "keep-old-files", short: "k",
        help: "The same as --overwrite never: files that exist are kept and named."),
      OptionSpec(.toStdout, "to-stdout", short: "O", help: "Write the contents to standard output."),
      OptionSpec(
        .sameOwner, "same-owner", kind: .invertible(initially: true), default: "--same-owner as root",
        help: "Give files to the owners that the archive names."),
      OptionSpec(.numericOwner, "numeric-owner", help: "Owners go by their numbers alone."),
      OptionSpec(
        .attributes, "xattrs", kind: .invertible(initially: true), default: "--xattrs",
        help: "Restore extended attributes and access control lists."),
      OptionSpec(
        .samePermissions, "same-permissions", short: "p",
        help: "Restore setuid and setgid bits, capabilities and attributes of the system too."),
      OptionSpec(.devices, "devices", help: "Make character and block devices."),
      OptionSpec(
        .safeLinks, "safe-links",
        help: "Refuse symbolic links that are absolute or lead outside, for archives from strangers."),
      OptionSpec(
        .unsafeLinks, "unsafe-links",
        help: "Does nothing: symbolic links are made as they are unless --safe-links is given."),
      OptionSpec(
        .maxOutput, "max-output", kind: .single(.size(minimum: 1)), value: "size",
        help: "Stop when the contents are larger than this together; each folder counts as 4 KiB."),
      OptionSpec(
        .maxRatio, "max-ratio", kind: .single(.number(1...1_000_000_000)), value: "n",
        help:
          "Stop when the contents are this many times as large as the archive; each folder counts as 4 KiB."
      ), .maxLevels,
      OptionSpec(
        .keepGoing, "keep-going",
        help: "Extract what is undamaged behind damage too; with an index no undamaged file is lost."),
      .allFormats,
    ] + OptionSpec.opening,
    shared: [Group.reading[0], Group.members, Group.extracting] + Group.readingRun[1...],
    examples: [
      Example(command: "batchproc extract -C /srv photos.tar.zst", meaning: "Unpack an archive."),
      Example(
        command: "batchproc extract photos.tar.zst 'photos/2023' '*.txt'",
        meaning: "Unpack a directory, and every text file."),
    ])
}

extension CommandSpec {
  static let verify = CommandSpec(
    id: .verify,
    abstract: "Verify an archive.",
    discussion: [
      """
      An archive with an index is held against it by all cores: the checksum of each frame, the SHA-256 of \
      each file, the end of the archive, counts and sizes, and that the index names all members that other tools \
      find, and no others. Members that are hit by damage are named on standard output, and so are files that \
      changed while they were archived; an incomplete one ends with 3. Of other archives everything is read, and what could not be checked is said.
      """,
      """
      With --against each member is also held against what has its name in a directory. What differs is named on \
      standard output, with what the archive has and what is there now, and is one of: MISSING, in the archive \
      and not there; NEW, there in a directory that the archive has, and not in the archive; TYPE, of another \
      kind; MODIFIED, a file with other bytes; METADATA, another mode, owner, group, link target or device, or \
      the time of what is no file; TOUCHED, a file with another time and the same bytes. Extended attributes and \
      access control lists are not compared. Symbolic links are compared and never followed. Times are as precise \
      as the archive has them. The options that choose files say what may be NEW.
      """,
      """
      Of a directory of snapshots all manifests and archives of its sets are read, and what is damaged or missing is \
      named (4). Without a key encrypted ones are compared with the digests in their companions.
      """,
    ],
    operands: [
      Operand(
        name: "archive", repeats: false,
        help: "The archive, or a directory of snapshots; - is standard input.")
    ],
    own: [
      OptionSpec(
        .against, "against", kind: .single(.directory), value: "dir",
        help: "Compare the members with what is in this directory, where their names begin."),
      OptionSpec(
        .share, "share", kind: .single(.glob), value: "n/count",
        help: """
          Of a directory of snapshots: read the n-th of so many parts, all of which are everything; 'today/30' is another \
          one each day.
          """),
      .setName(help: "The set of a directory of snapshots; all of them without it."), .lockWait,
      .allFormats,
    ] + OptionSpec.opening,
    shared: [Group.reading[0], Group.choosing, Group.events] + Group.readingRun[1...],
    examples: [
      Example(command: "batchproc verify photos.tar.zst", meaning: "Say whether an archive is whole."),
      Example(
        command: "batchproc verify --against /srv photos.tar.zst",
        meaning: "Say what has changed since it was made with -C /srv."),
      Example(
        command: "batchproc verify --share today/30 /mnt/backups",
        meaning: "Every night: read a thirtieth of all snapshots."),
    ])
}

extension CommandSpec.Group {
  /// What commands have that read one archive and no tree.
  static let reading: [CommandSpec.Group] = [
    CommandSpec.Group(
      title: scheduling.title, options: scheduling.options.filter { $0.id != .stride }),
    reporting, general,
  ]

  /// The same for commands that process what they read.
  static let readingRun: [CommandSpec.Group] = [reading[0], runReporting, general]

  /// What chooses among the files of a tree that is known.
  static let choosing = CommandSpec.Group(
    title: selection.title, options: selection.options.filter { ![.filesFrom, .files0From].contains($0.id) })

  static let events = CommandSpec.Group(
    title: policy.title, options: policy.options.filter { $0.id == .on })

  /// What leaves members of an archive out.
  static let members = CommandSpec.Group(
    title: selection.title,
    options: selection.options.filter { [.exclude, .include, .excludeFrom].contains($0.id) })

  static let extracting = CommandSpec.Group(
    title: policy.title, options: policy.options.filter { [.dryRun, .fsync].contains($0.id) })

  static let syncing = CommandSpec.Group(
    title: policy.title, options: policy.options.filter { $0.id == .fsync })
}
