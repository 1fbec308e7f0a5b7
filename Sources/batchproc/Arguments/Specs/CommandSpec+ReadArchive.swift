import BatchOutputs
extension OptionSpec {
  /// For commands that read archives.
  fileprivate static let allFormats = OptionSpec(
    .allFormats, "all-formats",
    help:
      "Read ar, cab, iso, lha and rar too, in a separate process with limits of memory and processor time."
  )
}

extension OptionSpec {
  /// The archive as an option instead of the first operand, as in tar.
  fileprivate static let archiveFile = OptionSpec(
    .archiveFile, "file", short: "f", kind: .single(.file), value: "archive",
    help: "The archive. All operands are member globs then.")
}

/// For commands that extract.
extension OptionSpec {
  static let stripComponents = OptionSpec(
    .stripComponents, "strip-components", kind: .single(.number(0...4096)), value: "n", default: "0",
    help: "Drop this many leading names of each path.")

  static let overwrite = OptionSpec(
    .overwrite, "overwrite", kind: .single(.choice(ReadingChoices.overwritings)), value: "when",
    default: ReadingChoices.overwritings[0],
    help: "Replace files that exist: never, if the member is newer, or always.")

  static let escaped = OptionSpec(
    .escaped, "escaped",
    help: """
      Read the names to choose as they are printed, with \\n for a newline and \\\\ for a backslash. They are exact \
      names then, and no globs.
      """)

  static let zero = OptionSpec(
    .zero, "zero", short: "z", help: "End rows in NUL, and do not escape names.")

  static let numericOwner = OptionSpec(
    .numericOwner, "numeric-owner", help: "Restore owners by their numbers, and ignore their names.")
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
      A member glob that is exactly a name selects that name; see 'extract'. When an archive has an index, only the \
      index is read and listed. --no-index reads the archive itself, as tar \
      does. 'verify' compares the two.
      """,
    ],
    operands: [
      Operand(name: "archive", repeats: false, help: "The archive; - is standard input."),
      Operand(
        name: "member-glob", repeats: true, help: "The members to list. The default is all.", isOptional: true
      ),
    ],
    own: [
      .archiveFile,
      OptionSpec(.longRows, "long", short: "l", help: "Show mode, owner, size and time, as tar tv does."),
      OptionSpec(.digests, "digests", help: "Show the SHA-256 of each file in the form of sha256sum."),
      OptionSpec(
        .index, "index", kind: .invertible(initially: true), default: "--index",
        help: "Read only the index if there is one. With --no-index the whole archive is read."),
      .allFormats, .escaped, .zero,
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
      Members are made below one directory, whatever the archive says: paths with '..', hard links that lead outside \
      and devices are refused, each is named, and the others are extracted. Absolute names become relative. A file \
      has its name only when it is complete. Of several members of one name the last one is extracted, as tar does \
      it; --overwrite decides about files that existed before. Symbolic links are made as they are, last of all, and \
      nothing is written through one; --safe-links refuses those that lead outside.
      """,
      """
      A member glob that is exactly the name of a member, or of a directory with members, selects that one. Otherwise \
      it is a pattern of gitignore, and '*' and '?' match slashes too, as in tar --wildcards; a directory that matches \
      stands for all that is in it. In an archive without an index the names are searched first, so it is read twice; \
      in a pipe a name that follows members that match it as a pattern is an error (3). The index of an archive is compared with the archive: the checksum \
      of each frame, and name, kind, size, time, place and headers of each member. With a glob only the members that \
      are decoded are compared, without their headers. 'verify' also compares the SHA-256 of contents.
      """,
    ],
    operands: [
      Operand(name: "archive", repeats: false, help: "The archive; - is standard input."),
      Operand(
        name: "member-glob", repeats: true, help: "The members to unpack. The default is all.",
        isOptional: true),
    ],
    own: [
      .archiveFile,
      OptionSpec(
        .directory, "directory", short: "C", kind: .single(.directory), value: "dir", default: ".",
        help: "Unpack below this directory; the last folder of the path is created."),
      .escaped, .stripComponents,
      .overwrite,
      OptionSpec(.force, "force", help: "The same as --overwrite always.").inPlans(.chosenByShard),
      OptionSpec(
        .keep, "keep-old-files", short: "k",
        help: "The same as --overwrite never: files that exist are kept and named."),
      OptionSpec(.toStdout, "to-stdout", short: "O", help: "Write the contents to standard output.").inPlans(
        .refused),
      OptionSpec(
        .sameOwner, "same-owner", kind: .invertible(initially: true), default: "--same-owner as root",
        help: "Restore the owners that the archive names."),
      .numericOwner,
      OptionSpec(
        .attributes, "xattrs", kind: .invertible(initially: true), default: "--xattrs",
        help: "Restore extended attributes and access control lists."),
      OptionSpec(
        .samePermissions, "same-permissions", short: "p",
        help: "Also restore setuid and setgid bits, capabilities and system attributes."),
      OptionSpec(.devices, "devices", help: "Make character and block devices."),
      OptionSpec(
        .safeLinks, "safe-links",
        help: "Refuse symbolic links that are absolute or lead outside, for untrusted archives."),
      OptionSpec(
        .unsafeLinks, "unsafe-links",
        help: "Does nothing: symbolic links are made as they are unless --safe-links is given."),
      OptionSpec(
        .maxOutput, "max-output", kind: .single(.size(minimum: 1)), value: "size",
        help: "Stop when all contents together are larger than this. Each folder counts as 4 KiB."),
      OptionSpec(
        .maxRatio, "max-ratio", kind: .single(.number(1...1_000_000_000)), value: "n",
        help:
          """
          Stop when all contents together are this many times as large as the archive. Each folder counts as 4 \
          KiB.
          """
      ), .maxLevels,
      OptionSpec(
        .keepGoing, "keep-going",
        help: """
          Go on after damage, and extract the members that are whole. With an index none of them is lost.
          """),
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
      An archive with an index is compared with its index, by all cores: the checksum of each frame, the SHA-256 of \
      each file, the end of the archive, counts and sizes, and whether the index names exactly the members that \
      other tools find. Damaged members are named on standard output, and so are files that changed while they were \
      archived; when one of these is incomplete the status is 3. An archive without an index is read completely, and \
      a note says what could not be checked.
      """,
      """
      With --against each member is also compared with the file of its name in a directory. Each difference is named \
      on standard output, with both values. It is one of: MISSING, in the archive and not there; NEW, there in a \
      directory that the archive has, and not in the archive; TYPE, of another kind; MODIFIED, a file with other \
      bytes; METADATA, another mode, owner, group, link target or device, or the time of a directory, link or \
      device; TOUCHED, a file with another time and the same bytes. Extended attributes and access control lists are \
      not compared. Symbolic links are compared and never followed. Times are compared as precisely as the archive \
      stores them. The options that select files decide which files can be NEW.
      """,
      """
      For a directory of snapshots all manifests and archives of its sets are read, and the damaged or missing ones \
      are named (4). Without a key, encrypted files are compared with the digests in their companions.
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
          For a directory of snapshots: read only the n-th of this many parts. All parts together are everything. \
          'today/30' reads another part each day.
          """),
      .setName(help: "The set in a directory of snapshots. The default is all sets."), .lockWait,
      .allFormats,
    ] + OptionSpec.opening,
    shared: [Group.reading[0], Group.choosing, Group.events] + Group.readingRun[1...],
    examples: [
      Example(command: "batchproc verify photos.tar.zst", meaning: "Check that an archive is undamaged."),
      Example(
        command: "batchproc verify --against /srv photos.tar.zst",
        meaning: "Show what has changed since it was made with -C /srv."),
      Example(
        command: "batchproc verify --share today/30 /mnt/backups",
        meaning: "Every night: read a thirtieth of all snapshots."),
    ])
}

extension CommandSpec.Group {
  /// The option groups of commands that read one archive and no tree.
  static let reading: [CommandSpec.Group] = [
    CommandSpec.Group(
      title: scheduling.title, options: scheduling.options.filter { $0.id != .stride }),
    reporting, general,
  ]

  /// The option groups of commands that process what they read.
  static let readingRun: [CommandSpec.Group] = [reading[0], runReporting, general]

  /// Options that select files of a known tree.
  static let choosing = CommandSpec.Group(
    title: selection.title, options: selection.options.filter { ![.filesFrom, .files0From].contains($0.id) })

  static let events = CommandSpec.Group(
    title: policy.title, options: policy.options.filter { $0.id == .on })

  /// Options that exclude members of an archive.
  static let members = CommandSpec.Group(
    title: selection.title,
    options: selection.options.filter { [.exclude, .include, .excludeFrom].contains($0.id) })

  static let extracting = CommandSpec.Group(
    title: policy.title, options: policy.options.filter { [.dryRun, .fsync].contains($0.id) })

  static let syncing = CommandSpec.Group(
    title: policy.title, options: policy.options.filter { $0.id == .fsync })
}
