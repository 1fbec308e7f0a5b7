/// Options of classic tools that this program does not have: the option to use instead, or that the spelling is accepted
/// because it requests the default behaviour.
///
/// One table for all commands. An answer completes the sentence `'-d': …`.
struct Habit {
  /// Spellings with their dashes.
  let spellings: [String]
  /// The commands for which the answer is valid; nil is before a command.
  let commands: [CommandID?]
  /// What to type.
  let answer: String
  /// Whether it is silently accepted; only for options without a value.
  var isNeedless = false
  /// Letters that make a needless letter in the same cluster get its answer.
  var unless = ""

  private init(_ spellings: String..., in commands: CommandID?..., answer: String) {
    self.init(spellings, in: commands, answer: answer)
  }

  private init(
    needless spellings: String..., in commands: CommandID?..., unless: String = "", answer: String = ""
  ) {
    self.init(spellings, in: commands, answer: answer)
    isNeedless = true
    self.unless = unless
  }

  private init(_ spellings: [String], in commands: [CommandID?], answer: String) {
    self.spellings = spellings
    self.commands = commands
    self.answer = answer
  }

  /// What to type instead of an option.
  ///
  /// - Parameters:
  ///   - spelling: with its dashes, without a value.
  ///   - command: nil for an option before a command.
  static func answer(to spelling: some Collection<UInt8>, in command: CommandID?) -> String? {
    habit(of: spelling, in: command)?.answer
  }

  /// Whether an option requests the default behaviour.
  ///
  /// - Parameter cluster: letters that follow it.
  static func isNeedless(
    _ spelling: some Collection<UInt8>, in command: CommandID?, beside cluster: ArraySlice<UInt8> = []
  ) -> Bool {
    guard let habit = habit(of: spelling, in: command) else { return false }
    return habit.isNeedless && !cluster.contains { habit.unless.utf8.contains($0) }
  }

  /// The option in an answer, with its value: `-j N` of `use -j N`.
  static func replacement(in answer: String) -> String? {
    guard answer.hasPrefix("use -"), let phrase = answer.dropFirst(4).split(separator: ",").first else {
      return nil
    }
    let words = phrase.split(separator: " ")
    // An answer with a redirection or an explanation is not an option.
    return words.count <= 2 && !phrase.contains(">") ? String(phrase) : nil
  }

  private static func habit(of spelling: some Collection<UInt8>, in command: CommandID?) -> Habit? {
    table.first { habit in
      habit.commands.contains(command)
        && habit.spellings.contains { $0.utf8.elementsEqual(spelling) }
    }
  }

  /// What to type instead of an unknown command: the name of a classic tool, or letters for `tar`.
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
      ["--profile"], in: CommandID.allCases.filter { ![.config, .backup, .schedule].contains($0) },
      answer: "a profile has its command, use 'batchproc --profile NAME'"),
    Habit(
      ["--no-config"], in: CommandID.allCases,
      answer: "it stands before the command, as in 'batchproc --no-config hash'"),
    Habit("-x", "--extract", "--get", in: nil, .list, answer: extract),
    Habit("--extract", "--get", in: .archive, .verify, answer: extract),
    Habit(needless: "-x", "--extract", "--get", in: .extract),
    Habit("-t", "--list", in: nil, .archive, .extract, .verify, answer: list),
    Habit(
      needless: "-t", "--list", in: .list, unless: "z",
      answer: "not needed; -z ends rows in NUL here, and the content of the archive shows the format"),
    Habit("-c", "--create", in: nil, .extract, .list, .verify, answer: create),
    Habit(needless: "-c", "--create", in: .archive),
    Habit(
      "-r", "-u", "-A", "--append", "--update", "--catenate", "--concatenate", "--delete", in: .archive,
      answer: "archives are not changed; write a new one with --force"),
    Habit("-T", in: .archive, answer: "use --files-from FILE"),
    Habit("-X", in: .archive, .extract, .list, answer: "use --exclude-from FILE"),
    Habit("-P", "--absolute-names", in: .archive, .extract, answer: "names in archives are always relative"),
    Habit(needless: "-p", "--preserve-permissions", "-a", "--auto-compress", in: .archive),
    Habit("--bzip2", in: .archive, answer: "use --format tar.bz2"),
    Habit("--lz4", in: .archive, answer: "use --format tar.lz4"),
    Habit("--dereference", in: .archive, answer: "use --follow-symlinks"),
    Habit("--dereference", in: .compress, .decompress, .hash, answer: "use --follow-symlinks"),
    Habit(
      needless: "-z", "-J", "-Z", "--gzip", "--xz", "--zstd", "--bzip2", "--gunzip", in: .extract, .verify),
    Habit(
      "-k", in: .list, answer: "list changes nothing"
    ),
    Habit(needless: "-J", "-Z", "--gzip", "--xz", "--zstd", "--bzip2", "--gunzip", in: .list),
    Habit(
      "--keep-newer-files", in: .extract, answer: "use --overwrite newer, which replaces older files"),
    Habit("--skip-old-files", in: .extract, answer: "not needed, files that exist are kept and named"),
    Habit(
      "-d", "--diff", "--compare", in: .archive, .extract, .list,
      answer: "use 'batchproc verify --against DIR'"),
    Habit("-d", "--decompress", "--uncompress", in: nil, .compress, .test, answer: decompress),
    Habit(needless: "-d", "--decompress", "--uncompress", in: .decompress),
    Habit("-z", "--compress", in: nil, .decompress, .test, answer: "use 'batchproc compress'"),
    Habit(needless: "-z", "--compress", in: .compress),
    Habit("-t", "--test", in: .compress, .decompress, answer: "use 'batchproc test'"),
    Habit(needless: "-t", "--test", in: .test),
    Habit("-l", "--list", in: .decompress, .test, answer: "use 'batchproc test -v'"),
    Habit("--list", in: .compress, answer: "use 'batchproc test -v'"),
    Habit(needless: "-r", "-R", "--recursive", in: .compress, .decompress, .test, .hash, .duplicates),
    Habit("-o", in: .compress, .decompress, answer: "use -c >FILE, or --output-dir DIR"),
    Habit("-p", "--processes", in: .compress, .decompress, answer: "use -j N"),
    Habit("-P", "--max-procs", in: .hash, .compress, .decompress, .test, answer: "use -j N"),
    Habit("-e", "--extreme", in: .compress, answer: "use a higher level, such as -9"),
    Habit(needless: "--ultra", in: .compress),
    Habit("--gzip", in: .compress, answer: "use --format gz"),
    Habit("--zstd", in: .compress, answer: "use --format zst"),
    Habit("-J", "--xz", in: .compress, answer: "use --format xz"),
    Habit("--lz4", in: .compress, answer: "use --format lz4"),
    Habit("--bzip2", in: .compress, answer: "use --format bz2"),
    Habit(
      "--jobs", "--threads", "--workers", "--parallel", in: .archive, .extract, .verify, .audit, .backup,
      .restore,
      .drill, answer: "use -j N"),
    Habit(
      "--jobs", "--workers", "--parallel", in: .hash, .check, .duplicates, .compress, .decompress, .cat,
      .test,
      answer: "use -j N"),
    Habit(
      "--long", "--rsyncable", "--adapt", "--train", "-D", in: .compress,
      answer: "not available; the stock tool has it, and reads and writes the same format"),
    Habit("-F", in: .compress, answer: "use --format"),
    Habit(
      "-N", "--name", "--no-name", in: .compress, .decompress, answer: "outputs are named after their sources"
    ),
    Habit("-c", "--check", in: .hash, answer: "use 'batchproc check MANIFEST'"),
    Habit(needless: "-b", "--binary", "-t", "--text", in: .hash, .check),
    Habit("--md5", in: .hash, answer: "use -a md5"),
    Habit("--sha1", in: .hash, answer: "use -a sha1"),
    Habit("--sha512", in: .hash, answer: "use -a sha512"),
    Habit("--blake3", "--b3", in: .hash, answer: "use -a blake3"),
    Habit(needless: "--sha256", in: .hash),
    Habit("-V", in: nil, answer: "use 'batchproc --version'"),
    Habit(
      "--html", "--stats", "--log-file", in: .hash, .check, .compress, .decompress, .cat, .test, .archive,
      .extract,
      .verify, .audit, .backup, .restore, .drill, answer: "use --report FILE, which writes an HTML page"),
    Habit("--target", in: .restore, answer: "use -C DIR"),
    Habit(
      "--snapshot", "--id", in: .restore, .snapshots, .drill,
      answer: "use --at ID; the newest one is the default"),
    Habit("--include", in: .restore, answer: "name the files after the directory of the snapshots"),
    Habit(
      "--exclude", in: .restore, answer: "name the files to restore after the directory of the snapshots"),
    Habit("--path", in: .restore, .snapshots, answer: "use a glob after the directory of the snapshots"),
    Habit("--ls", "--files", in: .snapshots, answer: "use --list ID"),
    Habit("--read-data", in: .verify, answer: "not needed, everything is read"),
    Habit("--read-data-subset", in: .verify, answer: "use --share 1/30"),
    Habit("-l", "--length", in: .hash, answer: "use -a with the whole name, such as -a sha512"),
  ]

  private static let words: [(words: [String], answer: String)] = [
    (["gzip", "pigz", "zstd", "xz", "lz4", "pzstd", "zip"], "use 'batchproc compress'"),
    (["gunzip", "unzstd", "unxz", "unlz4", "bunzip2", "uncompress"], decompress),
    (["zcat", "zstdcat", "xzcat", "lz4cat", "bzcat", "gzcat"], "use 'batchproc cat'"),
    (["tar", "bsdtar", "create", "c"], create),
    (["untar", "unzip", "x"], extract),
    (["ls", "t"], list),
    (["version"], "use 'batchproc --version'"),
    (["md5", "sha1", "sha256", "sha512", "blake3"], "use 'batchproc hash', with -a for the algorithm"),
    (["forget"], "use 'batchproc prune'"),
    (["find"], "use 'batchproc snapshots DIR --find GLOB', or 'batchproc list FILE GLOB' for an archive"),
    (["diff", "compare"], "use 'batchproc audit A B', or 'batchproc snapshots DIR --diff ID1 ID2'"),
    (["init"], "not needed, the first 'batchproc backup' makes the set"),
    (["exit", "status", "codes"], "exit codes are at the end of each help, as in 'batchproc hash --help'"),
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
