/// Answers to spellings of the classic tools that this program does not take: what to type in their place.
///
/// One table for all commands. An answer completes the sentence `'-d': …`.
struct Habit {
  /// Spellings with their dashes.
  let spellings: [String]
  /// Where the answer holds; nil is before a command.
  let commands: [CommandID?]
  let answer: String

  private init(_ spellings: String..., in commands: CommandID?..., answer: String) {
    self.init(spellings, in: commands, answer: answer)
  }

  private init(_ spellings: [String], in commands: [CommandID?], answer: String) {
    self.spellings = spellings
    self.commands = commands
    self.answer = answer
  }

  /// What to type in the place of an option.
  ///
  /// - Parameters:
  ///   - spelling: with its dashes, without a value.
  ///   - command: nil for an option that stands before a command.
  static func answer(to spelling: some Collection<UInt8>, in command: CommandID?) -> String? {
    table.first { habit in
      habit.commands.contains(command)
        && habit.spellings.contains { $0.utf8.elementsEqual(spelling) }
    }?.answer
  }

  /// What to type in the place of a word that is no command: the name of a classic tool, or letters for `tar`.
  static func command(for word: some Collection<UInt8>) -> String? {
    words.first { $0.words.contains { $0.utf8.elementsEqual(word) } }?.answer ?? tarAnswer(Array(word))
  }

  /// The answer to `tar` letters without a dash, such as `xzf`.
  private static func tarAnswer(_ letters: [UInt8]) -> String? {
    guard letters.count > 1, letters.count <= 5, letters.allSatisfy({ "cxtzjJvfp".utf8.contains($0) }) else {
      return nil
    }
    return letters.first.flatMap { answer(to: [UInt8(ascii: "-"), $0], in: nil) }
  }

  private static let create = "use 'batchproc archive -o FILE PATH...'"
  private static let extract = "use 'batchproc extract FILE'"
  private static let list = "use 'batchproc list FILE'"
  private static let decompress = "use 'batchproc decompress'"

  static let table: [Habit] = [
    Habit(
      ["--profile"], in: CommandID.allCases.filter { $0 != .config },
      answer: "a profile has its command, use 'batchproc --profile NAME'"),
    Habit(
      ["--no-config"], in: CommandID.allCases,
      answer: "it stands before the command, as in 'batchproc --no-config hash'"),
    Habit("-x", "--extract", "--get", in: nil, .list, answer: extract),
    Habit("--extract", "--get", in: .archive, .verify, answer: extract),
    Habit("-x", "--extract", "--get", in: .extract, answer: "not needed, extract does that"),
    Habit("-t", "--list", in: nil, .archive, .extract, .verify, answer: list),
    Habit("-t", "--list", in: .list, answer: "not needed, list does that"),
    Habit("-c", "--create", in: nil, .extract, .list, .verify, answer: create),
    Habit("-c", "--create", in: .archive, answer: "not needed, archive does that; -f FILE names the archive"),
    Habit(
      "-r", "-u", "-A", "--append", "--update", "--catenate", "--concatenate", "--delete", in: .archive,
      answer: "archives are not changed; write a new one with --force"),
    Habit("-T", in: .archive, .hash, answer: "use --files-from FILE"),
    Habit("-X", in: .archive, .extract, .list, answer: "use --exclude-from FILE"),
    Habit("-P", "--absolute-names", in: .archive, .extract, answer: "names in archives are always relative"),
    Habit(
      "-p", "--preserve-permissions", in: .archive, answer: "not needed, modes and owners are always archived"
    ),
    Habit(
      "-a", "--auto-compress", in: .archive, answer: "not needed, the suffix of the archive tells the format"),
    Habit("--bzip2", in: .archive, answer: "use --format tar.bz2"),
    Habit("--lz4", in: .archive, answer: "use --format tar.lz4"),
    Habit("--dereference", in: .archive, answer: "use --follow-symlinks"),
    Habit("--dereference", in: .compress, .decompress, .hash, answer: "use --follow-symlinks"),
    Habit(
      "-z", "-J", "-Z", "--gzip", "--xz", "--zstd", "--bzip2", "--gunzip", in: .extract, .verify,
      answer: "not needed, the content of the archive tells the format"),
    Habit(
      "-k", in: .list, answer: "list changes nothing"
    ),
    Habit(
      "-J", "-Z", "--gzip", "--xz", "--zstd", "--bzip2", "--gunzip", in: .list,
      answer: "not needed, the content of the archive tells the format"),
    Habit(
      "--keep-newer-files", in: .extract, answer: "use --overwrite newer, which replaces what is older"),
    Habit("--skip-old-files", in: .extract, answer: "not needed, files that exist are kept and named"),
    Habit(
      "-d", "--diff", "--compare", in: .archive, .extract, .list,
      answer: "use 'batchproc verify --against DIR'"),
    Habit("-d", "--decompress", "--uncompress", in: nil, .compress, .test, answer: decompress),
    Habit("-d", "--decompress", "--uncompress", in: .decompress, answer: "not needed, decompress does that"),
    Habit("-z", "--compress", in: nil, .decompress, .test, answer: "use 'batchproc compress'"),
    Habit("-z", "--compress", in: .compress, answer: "not needed, compress does that"),
    Habit("-t", "--test", in: .compress, .decompress, answer: "use 'batchproc test'"),
    Habit("-t", "--test", in: .test, answer: "not needed, test does that"),
    Habit("-l", "--list", in: .decompress, .test, answer: "use 'batchproc test -v'"),
    Habit("--list", in: .compress, answer: "use 'batchproc test -v'"),
    Habit(
      "-r", "-R", "--recursive", in: .compress, .decompress, .test, .hash,
      answer: "not needed, directories are walked"),
    Habit("-o", in: .compress, .decompress, answer: "use -c >FILE, or --output-dir DIR"),
    Habit("-p", "--processes", in: .compress, .decompress, answer: "use -j N"),
    Habit("-P", "--max-procs", in: .hash, .compress, .decompress, .test, answer: "use -j N"),
    Habit("-e", "--extreme", in: .compress, answer: "use a higher level, such as -9"),
    Habit("--ultra", in: .compress, answer: "not needed, zst has the levels 1 to 22"),
    Habit(
      "--long", "--rsyncable", "--adapt", "--train", "-D", in: .compress,
      answer: "not available; the stock tool has it, and reads and writes the same format"),
    Habit("-F", in: .compress, answer: "use --format"),
    Habit(
      "-N", "--name", "--no-name", in: .compress, .decompress, answer: "outputs are named after their sources"
    ),
    Habit("-c", "--check", in: .hash, answer: "use 'batchproc check MANIFEST'"),
    Habit(
      "-b", "--binary", "-t", "--text", in: .hash, .check,
      answer: "not needed, all files are read as they are"),
    Habit(
      "--html", "--stats", "--log-file", in: .hash, .check, .compress, .decompress, .cat, .test, .archive,
      .extract,
      .verify, .audit, .backup, .restore, .drill, answer: "use --report FILE, which writes an HTML page"),
    Habit("-l", "--length", in: .hash, answer: "use -a with the whole name, such as -a sha512"),
  ]

  private static let words: [(words: [String], answer: String)] = [
    (["gzip", "pigz", "zstd", "xz", "lz4", "pzstd", "zip"], "use 'batchproc compress'"),
    (["gunzip", "unzstd", "unxz", "unlz4", "bunzip2", "uncompress"], decompress),
    (["zcat", "zstdcat", "xzcat", "lz4cat", "bzcat", "gzcat"], "use 'batchproc cat'"),
    (["tar", "bsdtar", "create", "c"], create),
    (["untar", "unzip", "x"], extract),
    (["ls", "t"], list),
    (["dupes", "dups", "dedupe", "fdupes", "jdupes", "rmlint", "fclones"], "use 'batchproc duplicates'"),
    (["stats", "stat", "history"], "use 'batchproc report DIR' or 'batchproc snapshots DIR'"),
    (
      [
        "sha256sum", "sha512sum", "sha1sum", "md5sum", "b2sum", "b3sum", "xxhsum", "sum", "hashdeep",
        "digest",
      ],
      "use 'batchproc hash', with -a for the algorithm"
    ),
  ]
}
