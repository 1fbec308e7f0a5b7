import BatchEngine

/// Options of classic tools that this program does not have: the option to use instead, or that the spelling is accepted
/// because it requests the default behavior.
///
/// One table for all commands. An answer completes the sentence `'-d': …`.
struct ForeignOption {
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
  static func answer(to spelling: some Collection<UInt8>, in command: CommandSpec?) -> String? {
    option(of: spelling, in: command)?.answer
  }

  /// Whether an option requests the default behavior.
  ///
  /// - Parameter cluster: letters that follow it.
  static func isNeedless(
    _ spelling: some Collection<UInt8>, in command: CommandSpec?, beside cluster: ArraySlice<UInt8> = []
  ) -> Bool {
    guard let option = option(of: spelling, in: command) else { return false }
    return option.isNeedless && !cluster.contains { option.unless.utf8.contains($0) }
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

  private static func option(of spelling: some Collection<UInt8>, in command: CommandSpec?) -> ForeignOption?
  {
    table.first { option in
      option.isAnswered(in: command)
        && option.spellings.contains { $0.utf8.elementsEqual(spelling) }
    }
  }

  /// The value of `--qos` for the names that other tools use.
  static func meaning(of value: PathBytes, in option: OptionSpec) -> String? {
    guard option.id == .qos else { return nil }
    return switch value {
    case "idle": "background"
    case "best-effort", "low": "utility"
    case "normal", "realtime": "default"
    default: nil
    }
  }

  /// What to type instead of an unknown command: the name of a classic tool, or letters for `tar`.
  static func command(for word: some Collection<UInt8>) -> String? {
    ForeignLine.words(for: word).map { "use 'batchproc \($0)'" }
      ?? words.first { $0.words.contains { $0.utf8.elementsEqual(word) } }?.answer ?? tarAnswer(Array(word))
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

  static let table: [ForeignOption] = [
    ForeignOption(
      ["--profile"], in: CommandID.allCases.filter { ![.config, .backup, .schedule].contains($0) },
      answer: "a profile has its command, use 'batchproc --profile NAME'"),
    ForeignOption(
      ["--no-config"], in: CommandID.allCases,
      answer: "it stands before the command, as in 'batchproc --no-config hash'"),
    ForeignOption("-x", "--extract", "--get", in: nil, .list, answer: extract),
    ForeignOption("--extract", "--get", in: .archive, .verify, answer: extract),
    ForeignOption(needless: "-x", "--extract", "--get", in: .extract),
    ForeignOption("-t", "--list", in: nil, .archive, .extract, .verify, answer: list),
    ForeignOption(
      needless: "-t", "--list", in: .list, unless: "z",
      answer: "not needed; -z ends rows in NUL here, and the content of the archive shows the format"),
    ForeignOption("-c", "--create", in: nil, .extract, .list, .verify, answer: create),
    ForeignOption(needless: "-c", "--create", in: .archive),
    ForeignOption(
      "-r", "-u", "-A", "--append", "--update", "--catenate", "--concatenate", "--delete", in: .archive,
      answer: "archives are not changed; write a new one with --force"),
    ForeignOption("-T", in: .archive, answer: "use --files-from FILE"),
    ForeignOption("-X", in: .archive, .extract, .list, answer: "use --exclude-from FILE"),
    ForeignOption(
      "-P", "--absolute-names", in: .archive, .extract, answer: "names in archives are always relative"),
    ForeignOption(needless: "-p", "--preserve-permissions", "-a", "--auto-compress", in: .archive),
    ForeignOption("--bzip2", in: .archive, answer: "use --format tar.bz2"),
    ForeignOption("--lz4", in: .archive, answer: "use --format tar.lz4"),
    ForeignOption("--dereference", in: .archive, answer: "use --follow-symlinks"),
    ForeignOption("--dereference", in: .compress, .decompress, .hash, answer: "use --follow-symlinks"),
    ForeignOption(
      needless: "-z", "-J", "-Z", "--gzip", "--xz", "--zstd", "--bzip2", "--gunzip", in: .extract, .verify),
    ForeignOption(
      "-k", in: .list, answer: "list changes nothing"
    ),
    ForeignOption(needless: "-J", "-Z", "--gzip", "--xz", "--zstd", "--bzip2", "--gunzip", in: .list),
    ForeignOption(
      "--keep-newer-files", in: .extract, answer: "use --overwrite newer, which replaces older files"),
    ForeignOption(
      "--skip-old-files", in: .extract, answer: "not needed, files that exist are kept and named"),
    ForeignOption(
      "-d", "--diff", "--compare", in: .archive, .list, answer: "use 'batchproc verify --against DIR'"),
    ForeignOption("--diff", "--compare", in: .extract, answer: "use 'batchproc verify --against DIR'"),
    ForeignOption("-d", in: .extract, answer: "use -C DIR, or 'batchproc verify --against DIR' to compare"),
    ForeignOption("-d", "--decompress", "--uncompress", in: nil, .compress, .test, answer: decompress),
    ForeignOption(needless: "-d", "--decompress", "--uncompress", in: .decompress),
    ForeignOption("-z", "--compress", in: nil, .decompress, .test, answer: "use 'batchproc compress'"),
    ForeignOption(needless: "--compress", in: .compress),
    // With a file name after it, these are letters for tar.
    ForeignOption(needless: "-z", in: .compress, unless: "f", answer: create),
    ForeignOption("-xz", in: .compress, answer: "use --format xz"),
    ForeignOption(needless: "-a", "--ascii", "-i", "--independent", in: .compress),
    ForeignOption(
      "-b", "-B", "--bits", "--blocksize", in: .compress,
      answer: "not available; blocks of a large file have the size that suits its format and level"),
    ForeignOption("-C", in: .compress, .decompress, answer: "use --output-dir DIR"),
    ForeignOption("-O", in: .compress, .decompress, answer: "use -c"),
    ForeignOption(
      "-d", "-N", "--delete", "--noprompt", in: .duplicates,
      answer: "use --link hard, since copies are not removed: their names stay and share one content"),
    ForeignOption("--merge-directories", in: .duplicates, answer: "use --folders"),
    ForeignOption("-t", "--test", in: .compress, .decompress, answer: "use 'batchproc test'"),
    ForeignOption(needless: "-t", "--test", in: .test),
    ForeignOption("-l", "--list", in: .decompress, .test, answer: "use 'batchproc test -v'"),
    ForeignOption("--list", in: .compress, answer: "use 'batchproc test -v'"),
    ForeignOption(needless: "-R", "--recursive", in: .parity),
    ForeignOption(needless: "-r", "-R", "--recursive", in: .compress, .decompress, .test, .hash, .duplicates),
    ForeignOption("-o", in: .compress, .decompress, answer: "use -c >FILE, or --output-dir DIR"),
    ForeignOption("-p", "--processes", in: .compress, .decompress, answer: "use -j N"),
    ForeignOption("-P", "--max-procs", in: .hash, .compress, .decompress, .test, answer: "use -j N"),
    ForeignOption("-e", "--extreme", in: .compress, answer: "use a higher level, such as -9"),
    ForeignOption(needless: "--ultra", in: .compress),
    ForeignOption("--gzip", in: .compress, answer: "use --format gz"),
    ForeignOption("--zstd", in: .compress, answer: "use --format zst"),
    ForeignOption("-J", "--xz", in: .compress, answer: "use --format xz"),
    ForeignOption("--lz4", in: .compress, answer: "use --format lz4"),
    ForeignOption("--bzip2", in: .compress, answer: "bzip2 is only read, use --format xz"),
    ForeignOption(
      "--jobs", "--threads", "--workers", "--parallel", in: .archive, .extract, .verify, .audit, .backup,
      .restore,
      .drill, answer: "use -j N"),
    ForeignOption(
      "--jobs", "--workers", "--parallel", in: .hash, .check, .duplicates, .compress, .decompress, .cat,
      .test,
      answer: "use -j N"),
    ForeignOption(
      "--long", "--rsyncable", "--adapt", "--train", "-D", in: .compress,
      answer: "not available; the stock tool has it, and reads and writes the same format"),
    ForeignOption(
      "--long", "-M", "--memory", "--memlimit", "--memlimit-decompress", in: .decompress, .cat, .test,
      answer: "use --max-memory SIZE: a window may have half of it, so 4G allows the largest one"),
    ForeignOption("-F", in: .compress, answer: "use --format FORMAT"),
    ForeignOption(
      "-N", "--name", "--no-name", in: .compress, .decompress, answer: "outputs are named after their sources"
    ),
    ForeignOption("-c", "--check", in: .hash, answer: "use 'batchproc check MANIFEST'"),
    ForeignOption(needless: "-b", "--binary", "-t", "--text", in: .hash, .check),
    ForeignOption("--md5", in: .hash, answer: "use -a md5"),
    ForeignOption("--sha1", in: .hash, answer: "use -a sha1"),
    ForeignOption("--sha512", in: .hash, answer: "use -a sha512"),
    ForeignOption("--blake3", "--b3", in: .hash, answer: "use -a blake3"),
    ForeignOption(needless: "--sha256", in: .hash),
    ForeignOption(
      "-v", "-q", "-j", in: nil, answer: "it stands after the command, as in 'batchproc hash -v photos'"),
    ForeignOption("-V", in: nil, answer: "use 'batchproc --version'"),
    ForeignOption(
      "--html", "--stats", "--log-file", in: .hash, .check, .compress, .decompress, .cat, .test, .archive,
      .extract,
      .verify, .audit, .backup, .restore, .drill, answer: "use --report FILE, which writes an HTML page"),
    ForeignOption(
      needless: "-a", "--archive", "-r", "--recursive", "-l", "--links", "-p", "--perms",
      "--times", "-g",
      "--group", "--owner", "-H", "--hard-links", "-A", "--acls", "-X", "--xattrs", "-S", "--sparse", "-d",
      "-W", "--whole-file", "--numeric-ids", "--delete-after", "--no-dereference", "--specials", in: .mirror),
    ForeignOption(
      "-t", in: .mirror, answer: "leave it out: times are always copied, and the target is the last path"),
    ForeignOption(
      "-R", in: .mirror,
      answer:
        "leave it out: directories are copied with their contents, and the target gets the last name of each source"
    ),
    ForeignOption("-D", in: .mirror, answer: "use --devices; FIFOs are always copied"),
    ForeignOption(
      "-L", "--copy-links", "--dereference", in: .mirror, answer: "symbolic links are copied as links"),
    ForeignOption("--bwlimit", in: .mirror, answer: "use --rate SIZE"),
    ForeignOption(
      "--delete-before", "--delete-during", "--del", "--delete-delay", "--purge", in: .mirror,
      answer: "use --delete, which comes last, when everything is copied"),
    ForeignOption(
      "-i", "--itemize-changes", "--info", "--stats", "--log-file", in: .mirror,
      answer: "use -v to name what is done, --dry-run to see it before, --json or --report FILE"),
    ForeignOption(
      "-z", "--compress", "-e", "--rsh", "--partial", "-P", in: .mirror,
      answer:
        "not available: both sides are mounted directories; an interrupted run goes on when it is started again"
    ),
    ForeignOption(
      "--inplace", "--append", "--append-verify", in: .mirror,
      answer: "not available: each file is written under a temporary name, and is old or new at any instant"),
    ForeignOption(
      "--files-from", "--files0-from", in: .mirror,
      answer: "not available; --include and --exclude choose files"),
    ForeignOption(
      "-b", "--backup", "--backup-dir", in: .mirror,
      answer: "use --link-dest DIR for a tree of each day, or 'batchproc backup'"),
    ForeignOption(
      "--compare-dest", "--copy-dest", in: .mirror, answer: "use --link-dest DIR, which shares equal files"),
    ForeignOption(
      "--existing", "--size-only", "-I", "--ignore-times", "--modify-window", in: .mirror,
      answer:
        "not available; --checksum compares bytes, --update and --ignore-existing keep files of the target"),
    ForeignOption("--jobs", "--workers", "--transfers", "--parallel", in: .mirror, answer: "use -j N"),
    ForeignOption(
      needless: "--human-readable", "-s", "--protect-args", "--secluded-args", "-E", "--executability",
      in: .mirror),
    ForeignOption(
      "--remove-source-files", "--remove-sent-files", in: .mirror,
      answer: "not available; run again with --checksum, and then remove the source yourself"),
    ForeignOption(
      "--chown", "--chmod", "--usermap", "--groupmap", "--no-perms", "--no-owner", "--no-group", "--no-times",
      "-O",
      "--omit-dir-times", in: .mirror,
      answer: "not available; owner, mode and times are always those of the source"),
    ForeignOption(
      "-U", "-N", "--atimes", "--crtimes", in: .mirror,
      answer: "not available; times of access and creation are not copied"),
    ForeignOption(
      "-T", "--temp-dir", "--no-target-directory", in: .mirror,
      answer:
        "not available; temporary files are beside the final names, and 'SOURCE/ TARGET' copies the contents"),
    ForeignOption("--target-directory", in: .mirror, answer: "the target is the last path"),
    ForeignOption(
      "--fuzzy", "-y", in: .mirror, answer: "not available; a file that has changed is copied whole"),
    ForeignOption(
      "--filter", "-f", "-F", in: .mirror,
      answer: "use --exclude GLOB and --include GLOB; files of the target are replaced without an option"),
    ForeignOption(
      "-m", "--prune-empty-dirs", in: .mirror,
      answer: "not available; directories without files are copied too"),
    ForeignOption(
      "-k", "-K", "--copy-dirlinks", "--keep-dirlinks", "--copy-unsafe-links", "--safe-links", in: .mirror,
      answer: "not available; symbolic links are copied as they are, and never followed"),
    ForeignOption(
      "--relative", in: .mirror, answer: "not available; the target gets the last name of each source"),
    ForeignOption(
      "--delete-missing-args", "--ignore-missing-args", "--ignore-errors", in: .mirror,
      answer: "not available; after any failure nothing is removed"),
    ForeignOption("--no-clobber", in: .mirror, answer: "use --ignore-existing"),
    ForeignOption(
      "--preserve", "--reflink", in: .mirror,
      answer: "not needed; everything is copied, and blocks are shared where that is possible"),
    ForeignOption("-P", "--max-procs", "--jobs", "--workers", "--parallel", in: .run, answer: "use -j N"),
    ForeignOption("--max-args", "--max-lines", "-N", "-n1", in: .run, answer: "use --batch N"),
    ForeignOption(
      "-I", "-i", "--replace", in: .run,
      answer: "not needed; {} in the words of the command is the path of the file"),
    ForeignOption("-0", "--null", "-d", "--delimiter", in: .run, answer: "use --files0-from FILE"),
    ForeignOption("-a", "--arg-file", in: .run, answer: "use --files-from FILE"),
    ForeignOption(needless: "-k", "--keep-order", "-r", "--no-run-if-empty", in: .run),
    ForeignOption("--halt", "--halt-on-error", in: .run, answer: "use --stop-after N"),
    ForeignOption("--joblog", "--results", "-t", in: .run, answer: "use --log FILE"),
    ForeignOption("--retries", in: .run, answer: "use --retry N"),
    ForeignOption("--eta", "--bar", in: .run, answer: "use --progress bar"),
    ForeignOption(
      "--shell", in: .run, answer: "not available; the command may be a shell, as in sh -c 'LINE' sh {}"),
    ForeignOption(
      "-exec", "--exec", "-X", "--exec-batch", in: .run,
      answer: "name the paths first, and the command after two dashes"),
    ForeignOption(
      "--sshlogin", "--sshloginfile", "--slf", in: .run, answer: "use 'batchproc plan' for several machines"),
    ForeignOption(
      "--resume", "--resume-failed", in: .run,
      answer: "not needed; the same line again leaves out what has its output"),
    ForeignOption("-m", "--memory", in: .parity, answer: "use --max-memory SIZE"),
    ForeignOption("-t", "-T", "--threads", "--jobs", in: .parity, answer: "use -j N"),
    ForeignOption("-u", "-l", in: .parity, answer: "use -n N, which divides the recovery blocks among files"),
    ForeignOption("--redundancy", "--recovery", in: .parity, answer: "use -r PERCENT"),
    ForeignOption(
      "-a", in: .parity, answer: "the first path names the recovery data if it ends in .par2"),
    ForeignOption("-d", in: .parity, answer: "use -B DIR"),
    ForeignOption(
      "-p", "--purge", in: .parity,
      answer: "not available; with --force a repair keeps no damaged files, and recovery data stay"),
    ForeignOption("-f", in: .parity, answer: "not available; the first recovery block has the number 0"),
    ForeignOption("-f", in: .repair, answer: "use --force"),
    ForeignOption("--set", in: .repair, answer: "use --name NAME"),
    ForeignOption(
      "-n", "--dry-run", "--check", in: .repair,
      answer: "use 'batchproc verify DIR' for a set, or 'batchproc parity verify FILE'"),
    ForeignOption(
      "-r", "-c", "--parity", "--parity-blocks", "--redundancy", in: .repair,
      answer: "use 'batchproc parity create FILE'"),
    ForeignOption(
      "-i", "--identity", "--passphrase-file", in: .repair,
      answer: "not needed; recovery data are those of the encrypted files"),
    ForeignOption(
      "-o", "--output", "-C", "--to", "--from", in: .repair,
      answer:
        "not available; a repaired file takes the place of the damaged one, which is kept without --force"),
    ForeignOption("-o", "--dir", "--output", in: .plan, answer: "use --out DIR"),
    ForeignOption("-n", in: .plan, answer: "use --shards N"),
    ForeignOption("--json", in: .plan, answer: "use 'batchproc status --json DIR'"),
    ForeignOption("-f", "--force", in: .plan, answer: "choose another directory, or remove the old plan"),
    ForeignOption(
      "-j", "--jobs", "--max-concurrency", in: .plan, answer: "it is an option of each shard, not of the plan"
    ),
    ForeignOption("--plan", "--dir", in: .merge, answer: "name the directory without an option"),
    ForeignOption("--shard", in: .merge, answer: "not needed; a merge joins all shards"),
    ForeignOption("-n", "--dry-run", "--list", in: .merge, answer: "use 'batchproc status DIR'"),
    ForeignOption("--json", in: .merge, answer: "use 'batchproc status --json DIR'"),
    ForeignOption("-f", in: .merge, answer: "use --force"),
    ForeignOption("-C", in: .merge, answer: "use -o FILE"),
    ForeignOption("--keep", in: .merge, answer: "not needed; only --remove-parts removes plan and results"),
    ForeignOption(
      "-j", "--jobs", "--max-concurrency", in: .merge,
      answer: "not available; a merge copies one result after the other"),
    ForeignOption("--target", "-t", "--to", "-o", "-d", "--output", in: .restore, answer: "use -C DIR"),
    ForeignOption(
      "--tag", in: .restore, answer: "not available; --at, --host and --source choose a snapshot"),
    ForeignOption("--verify", in: .restore, answer: "not needed; a file without its digest is not restored"),
    ForeignOption("--sparse", in: .restore, answer: "not needed; holes are restored as holes"),
    ForeignOption("--list", "--ls", in: .restore, answer: "use 'batchproc snapshots DIR --list ID'"),
    ForeignOption(
      "--snapshot", "--id", in: .restore, .snapshots, .drill,
      answer: "use --at ID; the newest one is the default"),
    ForeignOption("--include", in: .restore, answer: "name the files after the directory of the snapshots"),
    ForeignOption(
      "--exclude", in: .restore, answer: "name the files to restore after the directory of the snapshots"),
    ForeignOption(
      "--path", in: .restore, .snapshots, answer: "use a glob after the directory of the snapshots"),
    ForeignOption("--null", "-0", "--print0", in: .list, .snapshots, answer: "use --zero"),
    ForeignOption("--ls", "--files", in: .snapshots, answer: "use --list ID"),
    ForeignOption("--read-data", in: .verify, answer: "not needed, everything is read"),
    ForeignOption("--read-data-subset", in: .verify, answer: "use --share 1/30"),
    ForeignOption("-l", "--length", in: .hash, answer: "use -a with the whole name, such as -a sha512"),
  ]

  private static let words: [(words: [String], answer: String)] = [
    (["tar", "bsdtar", "create", "c", "zip", "7z", "7za", "7zz"], create),
    (["untar", "unzip", "x"], extract),
    (["ls", "t"], list),
    (
      ["par2", "par2create", "par2verify", "par2repair"],
      "use 'batchproc parity create', 'verify' or 'repair'"
    ),
    (["batchproc"], "leave it out"),
    (["version"], "use 'batchproc --version'"),
    (["forget"], "use 'batchproc prune'"),
    (["find"], "use 'batchproc snapshots DIR --find GLOB', or 'batchproc list FILE GLOB' for an archive"),
    (["diff", "compare"], "use 'batchproc audit A B', or 'batchproc snapshots DIR --diff ID1 ID2'"),
    (["init"], "not needed, the first 'batchproc backup' makes the set"),
    (["exit", "status", "codes"], "exit codes are at the end of each help, as in 'batchproc hash --help'"),
    (["dupes", "dups", "dedupe", "fdupes", "jdupes", "rmlint", "fclones"], "use 'batchproc duplicates'"),
    (["stats", "stat", "history"], "use 'batchproc report DIR' or 'batchproc snapshots DIR'"),
    (["bzip2", "lbzip2", "pbzip2"], "bzip2 is only read, use 'batchproc compress --format xz'"),
    (["xxhsum", "sum", "hashdeep", "digest"], "use 'batchproc hash', with -a for the algorithm"),
    (["restic", "borg", "borgmatic", "kopia", "rdiff-backup", "duplicity"], "use 'batchproc backup'"),
    (
      ["sync", "rsync", "cp", "fpsync", "dcp", "dsync", "robocopy", "msrsync"],
      "use 'batchproc mirror SOURCE TARGET'"
    ),
    (
      ["rclone"],
      "use 'batchproc mirror SOURCE TARGET' for a mounted directory, 'batchproc backup --to DIR' for snapshots, and 'batchproc copy' to take them to another place"
    ),
    (
      ["mount"],
      "not available; 'batchproc snapshots SET --list ID' shows the files of a snapshot, 'batchproc restore' takes some out"
    ),
    (
      ["formats", "algorithms", "levels"],
      "these are in the help of each command, as in 'batchproc archive --help' and 'batchproc compress --help'"
    ),
  ]
}
