extension CommandSpec {
  static let archive = CommandSpec(
    id: .archive,
    abstract: "Write what is in directory trees into one archive.",
    discussion: [
      """
      All that a tree is made of is archived: directories, files, symbolic and hard links, FIFOs and devices, with \
      times, owners, attributes and access control lists; holes of sparse files are not read. Sockets are skipped. \
      Members are in the order of their names. Their paths are the ones given, without leading slashes and without \
      everything up to a '..'. A path that is given twice is archived twice. zip, cpio and 7z keep less of the \
      metadata. zip and 7z store no FIFOs and devices, and store a hard-linked file once for each of its names.
      """,
      """
      Archives of the tar family have an index with the SHA-256 of every file after their end, where other tools do \
      not look. A large file that becomes shorter while it is read is filled up with zeros and counts as failed.
      """,
      """
      With --encrypt-to the archive is a file in the format of age; its name should end in .age. It can only be \
      decrypted with the identity of one of the recipients, by batchproc or by 'age -d -i FILE'. Its writer cannot \
      decrypt it.
      """,
    ],
    operands: [Operand(name: "path", repeats: true, help: "Files and directories.")],
    own: [
      OptionSpec(
        .output, "output", "file", short: "o", "f", kind: .single(.file), value: "file",
        help: "The archive, which appears when it is complete; - is standard output."),
      OptionSpec(
        .format, "format",
        kind: .single(.choice(ArchiveChoices.formats, aliases: ArchiveChoices.formatAliases)),
        value: "format",
        help: "Format of the archive, when the suffix of the output does not say it."),
      OptionSpec(.gzip, "gzip", short: "z", help: "The same as --format tar.gz."),
      OptionSpec(.zstd, "zstd", help: "The same as --format tar.zst."),
      OptionSpec(.xz, "xz", short: "J", help: "The same as --format tar.xz."),
      OptionSpec(
        .level, "level", short: "l", kind: .single(.whole), takesDigits: true,
        value: "n",
        help:
          "How hard to compress: gz 0 to 12, zst 1 to 22, xz 0 to 9, lz4 1 to 12, bz2 1 to 9, zip and 7z 0 to 9."
      ),
      OptionSpec(
        .directory, "directory", short: "C", kind: .single(.directory), value: "dir",
        help: "Take the paths from this directory."),
      OptionSpec(
        .reproducible, "reproducible",
        help: """
          Make equal trees into equal archives: owner and group 0, and no time later than that of --mtime or \
          else of the variable SOURCE_DATE_EPOCH.
          """),
      OptionSpec(
        .mtime, "mtime", kind: .single(.time), value: "time",
        help: "Replace later times by this one: @ and seconds since 1970, or a date in UTC."),
      OptionSpec(
        .verify, "verify",
        help: """
          Read the archive back before it gets its name, and compare it with what was archived: every frame and its \
          checksum, names, sizes, the SHA-256 of each file, counts, the end. When something differs no archive is \
          written.
          """
      ).inPlans(.refused),
      OptionSpec(.force, "force", help: "Replace an output that exists.").inPlans(.chosenByShard),
      OptionSpec(
        .excludeVCS, "exclude-vcs", help: "Leave out the directories and files of version control systems."),
      OptionSpec(
        .owner, "owner", kind: .single(.file), value: "name[:uid]", help: "The owner of all members."),
      OptionSpec(
        .group, "group", kind: .single(.file), value: "name[:gid]", help: "The group of all members."),
      OptionSpec(
        .mode, "mode", kind: .single(.file), value: "mode",
        help: "Change the permissions of all members as chmod does: 644, or u+rwX,go-w."),
      OptionSpec(
        .transform, "transform", "xform", kind: .repeatable(.file), value: "rule",
        help: "Change the names of members by a rule of sed: s/old/new/, with the flags of tar."),
      OptionSpec(
        .followSymlinks, "follow-symlinks", short: "L",
        help: "Follow symbolic links, and archive what they lead to."),
      .plan, .shard,
    ] + OptionSpec.parity + OptionSpec.sealing,
    shared: Group.common,
    examples: [
      Example(
        command: "batchproc archive -o photos.tar.zst photos",
        meaning: "Archive a tree, compressed by all cores."),
      Example(
        command: "batchproc archive -o site.tgz --reproducible --mtime 2026-01-01 -C /srv site",
        meaning: "Make the same archive of the same tree on any machine."),
    ])
}
