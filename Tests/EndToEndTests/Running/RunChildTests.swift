import TestSupport
import Testing

/// Children that behave badly: each fails its file alone, and nothing else is touched.
@Suite(.timeLimit(.minutes(3))) struct RunChildTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir d; echo 1 >d/a; echo 2 >d/b; echo safe >outside")
  }

  @Test(
    "each failure has its message; the other file is processed, and nothing is left",
    arguments: [
      ("exit 2", "the command ended with status 2"),
      ("echo why >&2; echo >&2; exit 1", "the command ended with status 1: why"),
      ("kill -SEGV $$", "the command was ended by signal 11 (SEGV)"),
      ("exec sleep 100", "it took longer than the time limit"),
      ("trap '' TERM; while :; do sleep 0.05; done", "it took longer than the time limit"),
      ("kill -STOP $$", "it took longer than the time limit"),
      ("sleep 100 & exit 0", "the command left processes that still write to its standard output"),
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
    ], [1, 7])
  func failure(child: (script: String, message: String), concurrency: Int) throws {
    let (script, message) = child
    let isLink = script.contains("outside")
    let run = try t.shell(
      """
      "$BP" run -j \(concurrency) --timeout 1 --suffix .o d -- sh -c 'if [ "${1#d/}" = b ]; then cp "$1" "$2"; exit; fi
      \(script.replacing("'", with: "'\\''"))' x {} {out}; echo $?
      ls -A d; cat d/b.o outside
      """)
    #expect(run.text == "3\na\nb\nb.o\n2\n\(isLink ? "bad" : "safe")\n", "\(run.text)\(run.errorText)")
    let named = run.messages.filter { $0.hasPrefix("batchproc: d/a: ") }
    #expect(named.count == 1 && named.allSatisfy { $0.contains(message) }, "\(run.errorText)")
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
      "$BP" run -q d -- sh -c 'head -c 40000000 /dev/zero' x | wc -c; "$BP" run -q d -- sh -c 'head -c 5000000 /dev/zero | tr "\\0" e >&2' 2>&1 | wc -c
      (ulimit -v 8000000; "$BP" run -q --max-memory 64M d -- sh -c 'head -c 300M /dev/zero' x | wc -c)
      """, seconds: 100)
    let lines = run.text.split(separator: "\n").map(String.init)
    #expect(Array(lines.prefix(4)) == ["0", "xx", "0", "80000000"], "\(run.text)\(run.errorText)")
    // Each line of standard error has the path in front.
    #expect(lines.count == 6 && Int(lines[4]) ?? 0 > 10_000_000 && lines[5] == "629145600", "\(lines)")
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
