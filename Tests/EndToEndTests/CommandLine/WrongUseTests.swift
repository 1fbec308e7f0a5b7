import BatchEngine
import TestSupport
import Testing

/// Each command with paths and outputs that cannot be used: one status, and one line that names the cause.
@Suite("A command that cannot do its work", .timeLimit(.minutes(5))) struct WrongUseTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    let made = try t.shell(
      """
      mkdir ok folder locked twice
      seq 90000 >ok/f
      cp ok/f file
      cp ok/f noread
      cp ok/f twice/f
      cp ok/f twice/g
      $BP hash -q ok >m
      $BP compress -q --format gz -c file >z.gz
      $BP archive -q -o a.tar.zst ok
      $BP backup -q --to set ok
      $BP plan -q --shards 1 --out plan -- hash ok
      $BP hash -q --plan plan --shard 0
      chmod 000 locked noread
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// Runs a line for each operand, each in the state before; prints its status and the number of its messages.
  private static let functions = """
    export XDG_STATE_HOME=$PWD/state HOME=$PWD
    run() {
      for operand in $operands; do
        for output in out far page.html new.tar newplan key; do [ ! -e $output ] || rm -rf $output; done
        case $operand in none|folder) as= ;; *) as="setpriv --reuid=65534 --clear-groups" ;; esac
        $as $BP ${1/X/$operand} >rows 2>messages </dev/null
        status=$? count=0
        while IFS= read -r line; do
          case $line in batchproc*) count=$((count + 1)) ;; *) continue ;; esac
          case $line in *"$operand"*|*'Permission denied'*|*'no snapshot was made'*) ;; *) printf '%s\\n' "$line" >&2 ;; esac
        done <messages
        printf '%s/%s ' $status $count
      done
      echo
    }
    """

  /// A missing path, a folder and a file without permission, a folder: status / messages of each.
  static let paths: [(line: String, expected: String)] = [
    ("hash -q X", "1/1 1/1 1/1 0/0"), ("check -q X", "1/1 1/1 1/1 1/1"), ("audit -q m X", "1/1 1/1 1/1 4/0"),
    ("duplicates -q X", "1/1 1/1 0/0 0/0"), ("compress -q X", "1/1 1/1 1/1 0/0"),
    ("decompress -q X", "1/1 1/1 3/1 0/0"), ("cat -q X", "1/1 1/1 1/1 0/0"), ("test -q X", "1/1 1/1 1/1 0/0"),
    ("archive -q -o new.tar X", "1/1 1/1 1/1 0/0"), ("list -q X", "1/1 1/1 1/1 1/1"),
    ("extract -q -C out X", "1/1 1/1 1/1 1/1"), ("verify -q X", "1/1 1/1 1/1 1/1"),
    ("snapshots -q X", "1/1 1/1 1/1 1/1"), ("restore -q -C out X", "1/1 1/1 1/1 1/1"),
    ("prune -q --keep-last 1 X", "1/1 1/1 1/1 1/1"), ("drill -q X", "1/1 1/1 1/1 1/1"),
    ("copy -q X far", "1/1 1/1 1/1 1/1"), ("report -q -o page.html X", "1/1 1/1 1/1 1/1"),
    ("tune -q --seconds 1 X", "1/1 1/1 1/1 1/1"), ("merge -q X", "1/1 1/1 1/1 64/1"),
    ("status X", "1/1 1/1 1/1 64/1"), ("doctor X", "1/1 1/1 1/1 0/0"), ("config X", "64/1 64/1 64/1 64/1"),
    ("backup -q --to set X", "1/1 1/2 1/2 0/0"), ("cat -q -i X z.gz", "1/1 1/1 1/1 1/1"),
    ("hash -q --files-from X", "1/1 1/1 1/1 1/1"), ("extract -q -C X/none a.tar.zst", "5/1 5/1 5/1 0/0"),
  ]

  @Test("ends with one status and one line for a path", .enabled(if: Host.canChangeUser))
  func path() throws {
    let run = try t.shell(
      """
      \(Self.functions)
      chown -R 65534 .
      operands="none locked noread folder"
      \(Self.paths.map { "run '\($0.line)'" }.joined(separator: "\n"))
      """)
    for (found, row) in zip(run.text.split(separator: "\n"), Self.paths) {
      #expect(found.dropLast() == row.expected, "\(row.line)")
    }
    #expect(run.text.split(separator: "\n").count == Self.paths.count)
    #expect(run.errorText.isEmpty, "messages without the path: \(run.errorText)")
  }

  /// Lines whose rows or bytes go to standard output.
  static let printing = [
    "hash ok", "check m", "audit m twice", "duplicates twice", "compress -c file", "decompress -c z.gz",
    "cat z.gz",
    "archive -o - --format tar ok", "list a.tar.zst", "extract -O a.tar.zst", "extract -n -C out a.tar.zst",
    "backup -n --to set ok", "snapshots set", "snapshots --list latest set", "restore -n -C out set",
    "prune -n --keep-last 1 set", "drill --json set", "report set",
    "schedule --cron --to set ok", "status plan", "merge plan",
    "submit --slurm --shards 2 --dir newplan -- hash ok",
    "doctor", "config hash", "keygen -o key", "verify --json a.tar.zst", "test --json z.gz",
    "copy --json set far",
    "--version", "--help", "hash --help",
  ]

  @Test(
    "ends with 5 and one line when its rows cannot be written",
    arguments: [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
  func output(redirection: String, reason: String) throws {
    // It runs beside the others.
    let slow = "tune --seconds 1 ok"
    let run = try t.shell(
      """
      run() { # line, file for the messages
        $BP $1 2>$2 </dev/null \(redirection)
        echo "$1: $? $(grep -c 'standard output: .*: \(reason)' $2)"
      }
      run '\(slow)' messages.slow >slow &
      \(Self.printing.map { "rm -rf out far newplan key; run '\($0)' messages" }.joined(separator: "\n"))
      wait; cat slow
      """)
    #expect(run.text == (Self.printing + [slow]).map { "\($0): 5 1\n" }.joined(), "\(run.errorText)")
  }

  /// Lines that ask for what there is not, or contradict themselves, and a part of the answer.
  static let refused: [(line: String, answer: String)] = [
    ("mirror ok -", "standard output is no directory"), ("mirror - far", "standard input is no tree"),
    ("mirror ok host:far", "'host:far' is a place on another machine: mount it"),
    ("mirror host:/ok far", "'host:/ok' is a place on another machine: mount it"),
    ("mirror --chown=u ok far", "owner, mode and times are always those of the source"),
    ("mirror --remove-source-files ok far", "remove the source yourself"),
    ("mirror --filter='- x' ok far", "use --exclude GLOB and --include GLOB"),
    ("mirror -m ok far", "directories without files are copied too"),
    ("mirror --no-clobber ok far", "batchproc mirror --ignore-existing ok far"),
    ("run -P 4 ok -- cat", "Try: batchproc run -j 4 ok -- cat"),
    ("run -n1 ok -- cat", "'-n1': use --batch N."), ("run -0 ok -- cat", "use --files0-from FILE"),
    ("run --joblog l ok -- cat", "Try: batchproc run --log l ok -- cat"),
    ("run --shell ok -- cat", "sh -c 'LINE' sh {}"), ("run ok -exec cat {}", "the command after two dashes"),
    ("run ok cat {}", "Try: batchproc run ok -- cat '{}'"),
    ("run ok -- 'cat {}'", "Try: batchproc run ok -- cat '{}'"),
    ("mirror -t there ok", "leave it out: times are always copied, and the target is the last path"),
    ("mirror -aR ok there", "leave it out: directories are copied with their contents"),
    ("run ok -- cp {} {.}.bak", "'{.}' stands for nothing here: use '{dir}/{stem}'"),
    ("run ok -- cp {} far/{/}", "Try: batchproc run ok -- cp '{}' 'far/{name}'"),
    ("run --in-place --stdin ok -- sort", "{} is not among its words"),
    ("parity create -r 10 -c 5 file", "--parity cannot be used with --parity-blocks"),
    ("parity create -s 4096 -b 10 file", "--block-size cannot be used with --block-count"),
    ("parity create -s 5 file", "'5' is invalid for '--block-size <size>': a multiple of 4"),
    ("parity verify -r 10 file", "--parity is an option of 'create'"),
    ("parity repair -n 4 file", "--volumes is an option of 'create'"),
    ("parity create --redundancy 10 file", "Try: batchproc parity create -r 10 file"),
    ("parity repair -p file", "with --force a repair keeps no damaged files"),
    ("repair -n file", "use 'batchproc verify DIR' for a set"),
    ("repair --parity 5% file", "use 'batchproc parity create FILE'"),
    ("repair -i k set", "recovery data are those of the encrypted files"),
    ("plan --shards 2 -o q -- hash ok", "Try: batchproc plan --shards 2 --out q -- hash ok"),
    ("plan --shards 2 --out q --force -- hash ok", "choose another directory"),
    ("plan --shards 2 --out q -- batchproc hash ok", "'batchproc' is not a command: leave it out"),
    ("merge --plan plan", "name the directory without an option"),
    ("merge -n plan", "use 'batchproc status DIR'"), ("merge --keep plan", "only --remove-parts removes"),
    ("restore -t out set", "Try: batchproc restore -C out set"),
    ("restore --tag x -C out set", "--at, --host and --source choose a snapshot"),
    ("archive -o b.tar --parity 5% --parity-blocks 3 ok", "--parity cannot be used with --parity-blocks"),
    ("restore --strict --keep-going -C out set", "--strict cannot be used with --keep-going"),
    ("restore --list set", "use 'batchproc snapshots DIR --list ID'"),
  ]

  @Test("answers a line that cannot be meant with 64 and what to type")
  func answers() throws {
    try t.shell("$BP parity create -q file")
    let runs = try t.shell(
      Self.refused.enumerated().map { "$BP \($1.line) >rows 2>answer.\($0); echo $?" }.joined(separator: "\n")
    )
    let statuses = runs.text.split(separator: "\n")
    try #require(statuses.count == Self.refused.count, "\(runs.text)\(runs.errorText)")
    for (number, refused) in Self.refused.enumerated() {
      let found = t.text(PathBytes("answer.\(number)")) ?? ""
      #expect(
        statuses[number] == "64" && found.contains(refused.answer),
        "\(refused.line): \(statuses[number]) \(found)")
    }
    let deep = try t.shell("$BP mirror ok none/deep/far")
    #expect(
      deep.status == 5 && deep.errorText.contains("(make the directory above it first)"), "\(deep.errorText)")
    let planned = try t.shell("$BP plan --shards 2 --out q -- hash")
    #expect(planned.status == 64 && !planned.errorText.contains("Try:"), "\(planned.errorText)")
    let empty = try t.shell("cd plan; $BP merge ''; echo $?; $BP status ''; echo $?")
    #expect(
      empty.text == "1\n1\n" && empty.errorText.contains("'': an operand is the empty name"),
      "\(empty.errorText)")
    // Braces of other meaning are passed on, and the configuration of create does not disturb verify.
    let accepted = try t.shell(
      """
      $BP run -q file -- sh -c 'echo "{{.} {a} ${#}"' sh {}; $BP mirror -q ./ok ./host:far; ls host:far
      mkdir -p .config/batchproc; printf '[parity]\nparity = 5%%\n' >.config/batchproc/config
      HOME=$PWD XDG_CONFIG_HOME=$PWD/.config $BP parity verify -q file; echo $?
      """)
    #expect(accepted.text == "{.} {a} 1\nok\n0\n", "\(accepted.text)\(accepted.errorText)")
  }

  /// Lines that write files below `disk`.
  static let writing = [
    "hash -o disk/m ok", "compress --compress-all --output-dir disk/out file",
    "decompress --output-dir disk/out z.gz",
    "archive -o disk/a.tar --format tar ok", "extract -C disk/out a.tar.zst", "backup --to disk/set ok",
    "restore -C disk/out set", "copy set disk/far", "report -o disk/page.html set", "merge -o disk/m plan",
    "plan --shards 1 --out disk/plan -- hash ok", "keygen -o disk/key",
  ]

  @Test("ends with 5 when the disk of its output is full, and leaves no output", .enabled(if: Host.canMount))
  func fullDisk() throws {
    let run = try t.shell(
      """
      mkdir disk
      cat >go <<'END'
      mount -t tmpfs -o size=64k none disk
      run() {
        rm -rf disk/*
        head -c 1M /dev/zero >disk/filler 2>/dev/null
        $BP $1 >/dev/null 2>messages </dev/null
        echo "$1: $? $(grep -c 'No space left on device\\|are free there' messages) $(find disk -type f ! -name filler ! -name '.*' | wc -l)"
      }
      \(Self.writing.map { "run '\($0)'" }.joined(separator: "\n"))
      END
      unshare -m --propagation private bash go
      """)
    #expect(run.text == Self.writing.map { "\($0): 5 1 0\n" }.joined(), "\(run.errorText)")
  }
}
