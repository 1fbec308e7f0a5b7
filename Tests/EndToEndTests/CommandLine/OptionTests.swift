import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

@testable import batchproc

/// Each option of each command is documented, is used by a test, and has its effect.
@Suite(.timeLimit(.minutes(3))) struct OptionTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  // MARK: In documents and tests

  /// The options, by long name and help, with the commands that have them.
  private static let options: [(spec: OptionSpec, commands: [CommandSpec])] = {
    var all: [(spec: OptionSpec, commands: [CommandSpec])] = []
    for command in CommandTable.standard.commands {
      for option in command.options where option.id != .help && option.id != .version {
        if let index = all.firstIndex(where: {
          $0.spec.id == option.id && $0.spec.help == option.help && $0.spec.spellings == option.spellings
        }) {
          all[index].commands.append(command)
        } else {
          all.append((option, [command]))
        }
      }
    }
    return all
  }()

  /// The arguments that tests give to each command: in Swift calls, in scripts, as lists of words, and in the
  /// examples of the documents.
  private static func calls() throws -> [String: String] {
    let base = DocumentationTests.folder
    let tests = try ["Tests/EndToEndTests/", "Tests/BatchprocTests/Commands/"].flatMap { folder in
      try FileManager.default.subpathsOfDirectory(atPath: base + "/" + folder).map { folder + $0 }
    }
    let pages = try FileManager.default.contentsOfDirectory(atPath: base + "/docs").map { "docs/" + $0 }
    var calls: [String: String] = [:]
    for name in tests.filter({ $0.hasSuffix(".swift") }) + pages.filter({ $0.hasSuffix(".md") }) {
      // A backslash at the end of a line continues a command.
      let text = try DocumentationTests.document(name).replacing(/\\+\n */, with: "")
      for match in text.matches(of: /(?:\$BP"?|batchproc) +(?:--no-config +)?([a-z]+)\b([^\n;|&]*)/) {
        calls[String(match.output.1), default: ""] += match.output.2 + "\n"
      }
      for match in text.matches(of: /"([a-z]+)"(,[^\]\)]*)[\]\)]/) {
        calls[String(match.output.1), default: ""] += match.output.2 + "\n"
      }
    }
    return calls
  }

  /// Whether some words contain a spelling of an option; letters may be combined.
  private static func use(_ words: Set<Substring>, _ option: OptionSpec) -> Bool {
    option.spellings.contains { spelling in
      guard let letter = spelling.dropFirst().first, letter != "-" else {
        return words.contains(spelling[...])
      }
      return words.contains { $0.hasPrefix("-") && !$0.hasPrefix("--") && $0.contains(letter) }
    }
  }

  @Test("a test uses each option with its command, or with one command if more than three have it")
  func areRun() throws {
    let words = try Self.calls().mapValues { call in
      Set(call.split { !($0.isLetter || $0.isNumber || $0 == "-") })
    }
    #expect(words["hash"]?.isEmpty == false)
    for (option, commands) in Self.options {
      // A test of schedules passes each option of backup to `schedule`.
      let names = commands.map(\.name).filter { name in
        name != "schedule" || !commands.contains { $0.name == "backup" }
      }
      let missing = names.filter { !Self.use(words[$0] ?? [], option) }
      if names.count > 3 {
        #expect(missing != names, "\(option.label)")
      } else {
        #expect(missing == [], "\(option.label)")
      }
    }
  }

  @Test("docs/options.md is generated from the table", .enabled(if: Host.hasPython))
  func reference() throws {
    let run = try t.shell(
      """
      root='\(DocumentationTests.folder)'
      "$BP" --experimental-dump-help | python3 "$root/scripts/options.py" | diff - "$root/docs/options.md"
      """)
    #expect(run.status == 0, "scripts/options.py makes it: \(run.text.prefix(500))")
  }

  // MARK: Effects

  @Test("archives: --max-output, --max-ratio, --no-xattrs, -k, -L, --all-formats, --max-memory")
  func archives() throws {
    let run = try t.shell(
      #"""
      mkdir d; seq 20000 >d/a; head -c 30000000 /dev/zero >d/zeros; ln -s a d/link; setfattr -n user.note -v x d/a
      $BP archive -q -o a.tar.zst d
      mkdir x y z k; $BP extract -q -C x --max-output 1000 a.tar.zst; echo "max-output $?"
      $BP extract -q -C y --max-ratio 2 a.tar.zst; echo "max-ratio $?"
      $BP extract -q -C z --no-xattrs a.tar.zst; echo "xattrs $(getfattr z/d/a | wc -l) $(getfattr d/a | grep -c note)"
      mkdir k/d; echo kept >k/d/a; $BP extract -q -k -C k a.tar.zst; echo "keep $? $(cat k/d/a)"
      $BP archive -q -L -o l.tar d; tar -tvf l.tar d/link | cut -c 1
      printf '!<arch>\n' >e.ar; printf '%-16s%-12s%-6s%-6s%-8s%-10s`\nhello\n' one 0 0 0 100644 6 >>e.ar
      $BP list -q e.ar; echo "ar $?"; $BP list -q --all-formats e.ar; mkdir r; $BP extract -q --all-formats -C r e.ar
      cat r/one; $BP verify -q --all-formats e.ar; echo "ar $?"
      $BP hash -q --max-memory 1M d | sha256sum --check --quiet; echo "memory $?"
      $BP hash -q --max-memory 0 d; echo "memory $?"
      """#)
    #expect(
      run.text == """
        max-output 1
        max-ratio 5
        xattrs 0 1
        keep 3 kept
        -
        ar 1
        one
        hello
        ar 0
        memory 0
        memory 64

        """, "\(run.text)\(run.errorText)")
  }

  @Test("compressed files: --fast, --keep, --max-output; and --exclude-caches, --version")
  func compressed() throws {
    let run = try t.shell(
      #"""
      mkdir d; seq 30000 >d/a; cp d/a a.plain
      $BP compress -q --fast --keep d/a; echo "$? $(stat -c %s d/a.gz) $(ls d)"
      rm d/a.gz; $BP compress -q --best d/a; stat -c %s d/a.gz
      $BP decompress -q --keep --output-dir o d/a.gz; cmp "$(find o -name a)" a.plain && ls d
      $BP cat -q --max-output 100 d/a.gz | wc -c; echo "${PIPESTATUS[0]}"
      mkdir -p t/cache; echo 1 >t/one; echo 2 >t/cache/two
      printf 'Signature: 8a477f597d28d172789f06886806bc55' >t/cache/CACHEDIR.TAG
      $BP hash -q --exclude-caches t | cut -c 67- | grep -v TAG; $BP hash --version | head -n 1
      """#)
    let lines = run.text.split(separator: "\n").map(String.init)
    try #require(lines.count == 9, "\(run.text)\(run.errorText)")
    // Both files exist after --keep; the output of --fast is larger than that of --best.
    let fast = lines[0].split(separator: " ")
    #expect(fast.count == 3 && fast[0] == "0" && fast[2] == "a" && lines[1] == "a.gz")
    #expect((fast.dropFirst().first.flatMap { Int($0) } ?? 0) > (Int(lines[2]) ?? .max), "\(run.text)")
    #expect(lines[3...4] == ["a", "a.gz"])
    #expect((Int(lines[5]) ?? .max) <= 100 && lines[6] == "3", "\(run.text)")
    #expect(lines[7] == "t/one" && lines[8].hasPrefix("batchproc "), "\(run.text)")
  }

  @Test("backups: --checksum, --no-verify, --name, --at, --lock-wait, --hook-timeout, --keep-*")
  func backups() throws {
    let run = try t.shell(
      #"""
      mkdir d; seq 5000 >d/a; seq 10 >d/b; touch -d '1 hour ago' d/*
      $BP backup -q --no-verify --to s --name n d; echo "backup $?"
      $BP snapshots -q s --name n | grep -c verified
      $BP backup -q --to s --name other d
      $BP snapshots -q s | cut -d ' ' -f 1 | head -n 1; $BP verify -q --name n s; echo "verify $?"; $BP snapshots -q --name n s | wc -l
      id=$($BP snapshots -q --name n s | cut -d ' ' -f 1)
      $BP snapshots -q --name n --at "$id" s | wc -l; $BP snapshots -q --name n --at 1999-01-01 s; echo "at $?"
      $BP drill -q --name n --at "$id" --all s; echo "drill $?"
      $BP backup -q --checksum --to s --name n d; echo "checksum $?"
      $BP restore -q --name n --no-same-owner --numeric-owner --keep-going --overwrite always -C r s; echo "restore $?"
      diff r"$PWD"/d d && echo same
      echo old >r"$PWD"/d/a; $BP restore -q --name n --overwrite never -C r s; echo "never $?"
      $BP backup -q --hook-timeout 1s --before 'sleep 60' --to s --name n d; echo "hook $?"
      $BP prune -q -n --name n --keep-hourly 1 s | grep -c keep; $BP prune -q -n --name n --keep-daily 1 s | grep -c keep
      $BP prune -q -n --name n --keep-weekly 1 s | grep -c keep; $BP prune -q -n --name n --keep-monthly 1 s | grep -c keep
      $BP prune -q -n --name n --keep-yearly 1 s | grep -c keep
      $BP prune -q -n --name n --keep-within 1d s | grep -c keep
      python3 -c 'import fcntl, os, struct, subprocess
      set = os.open("s/.n.lock", os.O_RDWR)
      fcntl.fcntl(set, 37, struct.pack("hhxxxxqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))  # F_OFD_SETLK of the byte of writers
      print("locked", subprocess.run([os.environ["BP"], "prune", "-q", "--name", "n", "--lock-wait", "1s", "--keep-last", "1", "s"]).returncode)'
      $BP backup -q --to s --name n --keep-hourly 9 --keep-weekly 9 --keep-yearly 9 --keep-within 1y d; echo "kept $?"
      """#, seconds: 120)
    #expect(
      run.text == """
        backup 0
        0
        n
        verify 0
        1
        1
        at 1
        drill 0
        checksum 0
        restore 0
        same
        never 3
        hook 1
        1
        1
        1
        1
        1
        2
        locked 11
        kept 0

        """, "\(run.text)\(run.errorText)")
  }
}
