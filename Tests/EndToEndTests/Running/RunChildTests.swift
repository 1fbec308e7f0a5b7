import BatchEngine
import TestSupport
import Testing

/// Children that behave badly: each fails its file alone, and nothing else is touched.
@Suite(.timeLimit(.minutes(3))) struct RunChildTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir d; echo 1 >d/a; echo 2 >d/b; echo safe >outside")
  }

  /// Children that are waited for until a time limit, with the message of their failure.
  private static let slow = [
    ("exec sleep 100", "it took longer than the time limit"),
    ("trap '' TERM; while :; do sleep 0.05; done", "it took longer than the time limit"),
    ("kill -STOP $$", "it took longer than the time limit"),
    ("sleep 100 & exit 0", "the command left processes that still write to its standard output"),
  ]

  /// Children that fail at once.
  private static let fast = [
    ("exit 2", "the command ended with status 2"),
    ("echo why >&2; echo >&2; exit 1", "the command ended with status 1: why"),
    ("kill -SEGV $$", "the command was ended by signal 11 (SEGV)"),
    (":", "the command wrote no output"),
    ("mkdir \"$2\"", "the command left a directory in place of the output"),
    (
      "ln -s \"$PWD/outside\" \"$2\"; echo bad >\"$2\"",
      "the command left a symbolic link in place of the output"
    ),
    ("mkfifo \"$2\"", "the command left a FIFO in place of the output"),
    ("ln \"$1\" \"$2\"", "the command made the output a hard link to another file"),
    ("echo x >\"$2\"; rm \"$2\"", "the command wrote no output"),
    ("echo x >\"$2\"; echo more >>\"$1\"", "changed while the command processed it"),
  ]

  @Test("each failure has its message; the other file is processed, and nothing is left")
  func failure() throws {
    var lines: [String] = []
    var cases: [(folder: String, script: String, message: String)] = []
    for concurrency in [1, 7] {
      for (number, child) in (Self.slow + Self.fast).enumerated() {
        let folder = "\(concurrency)-\(number)"
        cases.append((folder, child.0, child.1))
        // All slow children are waited for at the same time.
        let end = number < Self.slow.count ? " &" : ""
        let quoted = child.0.replacing("'", with: "'\\''")
        lines.append("run \(folder) \(concurrency) '\(quoted)'\(end)")
      }
    }
    let all = try t.shell(
      """
      run() ( # folder, concurrency, script
        mkdir $1; cd $1; cp -r ../d ../outside .
        child='if [ "${1#d/}" = b ]; then cp "$1" "$2"; exit; fi
      '$3
        "$BP" run -j $2 --timeout 2 --suffix .o d -- sh -c "$child" x {} {out} >found 2>errors; echo $? >>found
        { ls -A d; cat d/b.o outside; } >>found
      )
      \(lines.joined(separator: "\n"))
      wait
      """)
    #expect(all.text == "" && all.errorText == "", "\(all.text)\(all.errorText)")
    for (folder, script, message) in cases {
      let found = t.text(PathBytes("\(folder)/found")) ?? ""
      let errors = t.text(PathBytes("\(folder)/errors")) ?? ""
      let outside = script.contains("outside") ? "bad" : "safe"
      #expect(found == "3\na\nb\nb.o\n2\n\(outside)\n", "\(folder), \(script): \(found)\(errors)")
      let named = errors.split(separator: "\n").filter { $0.hasPrefix("batchproc: d/a: ") }
      #expect(
        named.count == 1 && named.allSatisfy { $0.contains(message) }, "\(folder), \(script): \(errors)")
    }
  }

  @Test("a file that was renamed over the output is the output; what else is left beside it goes")
  func renamed() throws {
    let run = try t.shell(
      """
      "$BP" run -q --suffix .o d -- sh -c 'cp "$1" "$2.tmp"; mv "$2.tmp" "$2"; d=${2%/*}; mkdir -p $d/x/y; chmod 0 $d/x/y; echo side >$d/side' x {} {out}
      echo $?; ls -A d; cat d/a.o
      """)
    #expect(run.text == "0\na\na.o\nb\nb.o\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test("a child without outputs may close its streams, and print much or no newline")
  func streams() throws {
    let run = try t.shell(
      """
      "$BP" run -q d -- sh -c 'exec >&- 2>&-; exit 0'; echo $?; "$BP" run -q d -- printf x; echo; echo $?
      "$BP" run -q d -- sh -c 'head -c 10000000 /dev/zero' x | wc -c; "$BP" run -q d -- sh -c 'head -c 5000000 /dev/zero | tr "\\0" e >&2' 2>&1 | wc -c
      (ulimit -v 8000000; "$BP" run -q --max-memory 64M d -- sh -c 'head -c 100M /dev/zero' x | wc -c)
      """, seconds: 100)
    let lines = run.text.split(separator: "\n").map(String.init)
    #expect(Array(lines.prefix(4)) == ["0", "xx", "0", "20000000"], "\(run.text)\(run.errorText)")
    // Each line of standard error has the path in front.
    #expect(lines.count == 6 && Int(lines[4]) ?? 0 > 10_000_000 && lines[5] == "209715200", "\(lines)")
  }

  @Test(
    "standard input is empty, or the content of the file; the child has three descriptors and the signals of the caller"
  )
  func surroundings() throws {
    let run = try t.shell(
      #"""
      # The library of the C language keeps signals 32 and 33 for itself.
      cat >signals <<'E'
      awk '/SigBlk/ { print $2 } /SigIgn/ { print substr($2, 9) }' /proc/self/status; ulimit -Sn
      E
      echo no | "$BP" run -q d/a -- bash -c 'cat; ls /proc/self/fd | wc -l; . ./signals' x; . ./signals
      "$BP" run -q --stdin d -- cat
      (trap "" HUP; ulimit -Sn 200; "$BP" run -q d/a -- bash -c '. ./signals' x)
      """#)
    let lines = run.text.split(separator: "\n").map(String.init)
    guard lines.count == 12 else {
      Issue.record("\(run.text)\(run.errorText)")
      return
    }
    #expect(lines[0] == "4")
    #expect(Array(lines[1...3]) == Array(lines[4...6]))
    #expect(Array(lines[7...8]) == ["1", "2"])
    #expect(lines[10].hasSuffix("1") && lines[11] == "200")
  }
}
