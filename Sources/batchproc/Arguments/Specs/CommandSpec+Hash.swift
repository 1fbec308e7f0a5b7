import BatchCore

extension CommandSpec {
  static let hash = CommandSpec(
    id: .hash,
    abstract: "Print digests of every regular file.",
    discussion: [
      """
      Directories are walked in the order of their names. Rows appear in that order at any \
      concurrency, each as soon as it is known. Symbolic links, devices, sockets and FIFOs are \
      not read.
      """
    ],
    operands: [.inputs],
    own: [
      OptionSpec(
        .algorithm, "algorithm", short: "a",
        kind: .repeatable(.choice(HashOptions.algorithmNames, aliases: HashOptions.algorithmAliases)),
        value: "algorithm", default: "sha256",
        help: "Digest to make; may be given several times, each file is read once."),
      OptionSpec(
        .format, "format", kind: .single(.choice(ManifestFormat.allCases.map(\.rawValue))),
        value: "format", default: ManifestFormat.gnu.rawValue, help: "Form of the manifest."),
      OptionSpec(.tag, "tag", help: "The same as --format bsd."),
      OptionSpec(.zero, "zero", short: "z", help: "End rows in NUL, and do not escape names."),
      OptionSpec(
        .output, "output", short: "o", kind: .single(.file), value: "file", default: "-",
        help: "Write the manifest to a file that appears when it is complete; - is standard output."),
      OptionSpec(
        .cache, "cache",
        help: """
          Remember digests in $XDG_CACHE_HOME/batchproc, and do not open files whose size, times and inode have not \
          changed. A file whose bytes changed, but not its size and time, is named as ROT (4). A file that changed \
          within the last minute, and that a program may still write to, is synced first. On tmpfs, writes through a \
          mapping may change no time: see --cache-verify.
          """
      ).inPlans(.refused),
      OptionSpec(
        .cacheVerify, "cache-verify", kind: .single(.number(1...100)), value: "percent",
        help: """
          The same as --cache, but read this percentage of the known files again and compare their digests.
          """
      ).inPlans(.refused),
      OptionSpec(.force, "force", help: "Replace an output that exists.").inPlans(.chosenByShard),
      OptionSpec(.followSymlinks, "follow-symlinks", short: "L", help: "Follow symbolic links."),
      .plan, .shard,
    ],
    shared: Group.withThreads,
    examples: [
      Example(command: "batchproc hash photos >photos.sha256", meaning: "Write a manifest of a tree."),
      Example(
        command: "batchproc hash -a xxh128 -j 4 --exclude '*.tmp' /srv",
        meaning: "Use a fast digest, four operations at once, and leave out some files."),
    ])
}
