import TestSupport
import Testing

/// A command without outputs: what it prints, in which order, and how the run ends.
@Suite(.timeLimit(.minutes(3))) struct RunTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir -p d/sub; for n in $(seq 40); do echo $n >d/f$n; done; echo s >d/sub/s")
  }

  @Test(
    "standard output is whole and in the order of the tree, at every concurrency", arguments: [1, 2, 7, 32])
  func order(concurrency: Int) throws {
    // The earlier files take longer.
    let run = try t.shell(
      """
      "$BP" run -j \(concurrency) d -- sh -c 'n=$(cat "$1"); [ "$n" = 1 ] && sleep 0.2; echo "$1"; echo; echo "$n"' x >out; echo $?
      find d -type f | LC_ALL=C sort | while read f; do echo $f; echo; cat $f; done | cmp - out
      """)
    #expect(run.text == "0\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("ran 41 files"), "\(run.errorText)")
  }

  @Test(
    "the words of the command stand for facts about the file",
    arguments: [
      ("{}", "d/sub/a.tar.gz"), ("{name}", "a.tar.gz"), ("{stem}", "a.tar"), ("{dir}", "d/sub"),
      ("{path}", "sub/a.tar.gz"), ("{n}", "1"), ("x{name}y{n}", "xa.tar.gzy1"),
      ("{{} {}", "{} d/sub/a.tar.gz"),
      ("{foo} {}", "{foo} d/sub/a.tar.gz"),
    ])
  func placeholders(word: String, result: String) throws {
    let run = try t.shell(
      """
      rm -r d/*; mkdir d/sub; touch d/sub/a.tar.gz; "$BP" run -q d -- printf '%s' '\(word)'
      """)
    #expect(run.text == (result), "\(run.errorText)")
  }

  @Test("a name of any bytes is one argument, and none is taken for an option")
  func names() throws {
    let run = try t.shell(
      #"""
      mkdir e; cd e; touch -- -rf $'new\nline' $'\xff' 'a b' '{}' "$(printf 'n%.0s' $(seq 255))"
      "$BP" run -q . -- printf '%s\0' | sort -z | cmp - <(find . -type f -printf './%P\0' | sort -z); echo $?
      "$BP" run -q ./-rf -- printf '%s\n'; "$BP" run -q ./-rf -- printf '%s %s %s\n' {name} {stem} {path}
      "$BP" run $'new\nline' -- sh -c 'echo bad >&2; exit 1' 2>&1 | head -2
      """#)
    #expect(
      run.text == """
        0
        ./-rf
        ./-rf ./-rf ./-rf
        new\\nline: bad
        batchproc: new\\nline: the command ended with status 1: bad

        """, "\(run.text)\(run.errorText)")
  }

  @Test("several paths go to one child, in batches that depend on the files alone", arguments: [1, 2, 7, 32])
  func batches(concurrency: Int) throws {
    let run = try t.shell(
      """
      "$BP" run -q -j \(concurrency) --batch 17 d -- sh -c 'echo $#: $1' x | tee out; "$BP" run -q --batch 17 d -- wc -l {} | grep -c total
      "$BP" run --batch 3 d -- sh -c 'case "$*" in *f11*) exit 1;; esac' x; echo $?
      """)
    #expect(run.text == "17: d/f1\n17: d/f25\n7: d/f40\n3\n3\n", "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.contains("ran 38 files") && run.errorText.contains("3 failed"), "\(run.messages)")
  }

  @Test("a batch is cut where the arguments would be too long")
  func longBatches() throws {
    let run = try t.shell(
      #"""
      mkdir -p "l/$(printf 'x%.0s' $(seq 200))/$(printf 'y%.0s' $(seq 200))"; cd l/x*/y*; touch $(seq 2000); cd ../../..
      "$BP" run -q --batch 100000 l -- sh -c 'echo $#' x | awk '{ n += $1; lines++ } END { print n, (lines > 4) }'
      """#)
    #expect(run.text == "2000 1\n", "\(run.errorText)")
  }

  @Test(
    "a failed child is tried again, with the number of the try and nothing of what the try before printed")
  func retry() throws {
    // All at the same time.
    let run = try t.shell(
      """
      ("$BP" run -q --retry 2 d/f1 d/f2 -- sh -c 'echo $BATCHPROC_TRY $BATCHPROC_PATH $BATCHPROC_NUMBER; [ $BATCHPROC_TRY = 2 ]' x; echo $?) >one &
      ("$BP" run -q --retry 1 --stdin d/f3 -- sh -c 'cat; [ $BATCHPROC_TRY = 2 ]'; echo $?) >two &
      ("$BP" run -q --retry 1 d/f3 -- false; echo $?) >three &
      wait; cat one two three
      """)
    #expect(run.text == "2 d/f1 1\n2 d/f2 2\n0\n3\n0\n3\n", "\(run.text)\(run.errorText)")
  }

  @Test("after the given number of failures no further child is started", arguments: [1, 2, 7])
  func stopAfter(concurrency: Int) throws {
    let run = try t.shell(
      """
      for n in $(seq 400); do touch d/g$n; done
      "$BP" run -j \(concurrency) --stop-after 3 d -- sh -c 'echo >>ran; exit 7' x; echo $?; [ $(wc -l <ran) -lt 400 ]; echo $?
      """)
    #expect(run.text == "3\n0\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("not started"), "\(run.errorText)")
  }

  @Test("standard error has the path in front of each line, in the order of the tree or at once")
  func errors() throws {
    let run = try t.shell(
      #"""
      "$BP" run -q -j 7 d/f2 d/f1 -- sh -c 'printf "a\nb $1" >&2' x 2>&1
      "$BP" run -q -j 7 --stderr live d/f1 d/f2 -- sh -c '[ $1 = d/f1 ] && while [ ! -e go ]; do sleep 0.01; done; echo "$1" >&2; touch go' x 2>&1
      "$BP" run -q --json d/f1 -- sh -c 'echo oops >&2; exit 4' 2>&1 >/dev/null
      """#)
    #expect(
      run.text == """
        d/f2: a
        d/f2: b d/f2
        d/f1: a
        d/f1: b d/f1
        d/f2: d/f2
        d/f1: d/f1
        d/f1: oops

        """, "\(run.text)")
  }

  @Test("each child has a line in the log, and the same event with --json")
  func log() throws {
    let run = try t.shell(
      #"""
      "$BP" run -q --log log --accept 0,3 d/f1 d/f2 -- sh -c 'echo "$1"; exit 3' x; echo $?
      "$BP" run -q --log log2 --timeout 1 d/f1 -- sh -c 'kill -9 $$' x; echo $?
      python3 - <<'E'
      import json
      for line in open("log"):
          row = json.loads(line)
          print(row["path"], row["outcome"], row["status"], row["tries"], [w["path"] for w in row["command"]][-1], row["seconds"] > 0)
      print(json.loads(open("log2").read())["signal"])
      E
      "$BP" run -q --json d/f1 -- cat | head -2 | python3 -c 'import json, sys; print([json.loads(l).get("text", json.loads(l).get("status")) for l in sys.stdin])'
      """#)
    #expect(
      run.text == """
        d/f1
        d/f2
        0
        3
        d/f1 ran 3 1 d/f1 True
        d/f2 ran 3 1 d/f2 True
        9
        ['1\\n', 0]

        """, "\(run.text)\(run.errorText)")
  }

  @Test("--log replaces the log of an earlier run, and no other file")
  func keptLog() throws {
    let run = try t.shell(
      """
      echo mine >log; "$BP" run --log log d/f1 -- cat; echo $?; cat log; rm log
      for n in 1 2; do "$BP" run -q --log log d/f$n -- true; echo $?; done; grep -c '"d/f2"' log
      """)
    #expect(run.text == "1\nmine\n0\n0\n1\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("log: cannot write the output: it exists already"), "\(run.errorText)")
  }

  @Test(
    "a command that is missing or cannot be executed ends the run at once with 1",
    arguments: ["nosuch-command", "/etc/passwd", "./d", "/"])
  func missing(command: String) throws {
    let run = try t.shell("\"$BP\" run d -- \(command) {}; echo $?")
    #expect(run.text == "1\n" && run.messages.count == 1, "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains(command), "\(run.errorText)")
  }

  @Test(
    "a child that ends with 127 fails its file alone; a program that is named by the file is looked for each time"
  )
  func notFoundByChild() throws {
    let run = try t.shell(
      """
      "$BP" run d/f1 d/f2 -- sh -c '[ "$1" = d/f2 ] || exit 127; echo two' x; echo $?
      printf '#!/bin/sh\\necho hi' >d/run; chmod +x d/run; "$BP" run -q d/f1 d/run -- {}; echo $?
      printf 'echo plain $1' >d/plain; chmod +x d/plain; "$BP" run -q d/f1 -- d/plain; echo $?
      """)
    #expect(run.text == "two\n3\nhi\n3\nplain d/f1\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "wrong combinations are refused with 64",
    arguments: [
      "d", "d --", "-- true", "- -- true", "d -- cp {} {out}", "--in-place d -- cp {} {out}",
      "--in-place --suffix .x d -- cat", "--suffix .x --replace-suffix .y d -- cat", "--suffix a/b d -- cat",
      "--suffix .x d -- touch {out}", "--batch 2 --suffix .x d -- cat", "--batch 2 d -- cp {} {name}",
      "--batch 2 --stdin d -- cat", "--accept 256 d -- cat", "--accept 1, d -- cat", "--timeout x d -- cat",
      "--batch 0 d -- cat", "--stderr no d -- cat", "d -- ''",
    ])
  func wrongUse(arguments: String) throws {
    let run = try t.shell("\"$BP\" run \(arguments); echo $?")
    #expect(run.text == "64\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.hasPrefix("batchproc: "), "\(run.errorText)")
  }

  @Test("--dry-run starts nothing, and names what would be made")
  func dryRun() throws {
    let run = try t.shell(
      """
      "$BP" run -n d/f1 d/f2 -- touch ran; "$BP" run -n --suffix .x --output-dir o d/f1 -- cp {} {out}; "$BP" run -n --in-place d/f1 -- false
      ls -d ran o 2>/dev/null; cat d/f1
      """)
    #expect(run.text == "d/f1\nd/f2\no/d/f1.x\nd/f1\n1\n", "\(run.text)\(run.errorText)")
  }
}
