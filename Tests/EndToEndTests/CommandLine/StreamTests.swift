import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Standard streams that are slow, full, closed or broken.
@Suite struct StreamTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
  }

  @Test(
    "a full standard output is an error for each kind of output",
    arguments: [
      "hash t", "hash --json t", "hash --format mtree t", "check m", "--help", "--version", "help hash",
      "hash --help", "hash --dry-run t", "--experimental-generate-man", "--generate-completion-script bash",
    ])
  func full(arguments: String) throws {
    let run = try t.shell("$BP hash -q t >m; $BP \(arguments) >/dev/full")
    #expect(run.status == 5, "\(run.ending)")
    #expect(
      run.errorText.contains("standard output: cannot write: No space left on device"), "\(run.errorText)")
  }

  @Test(
    "a summary that cannot be written is an error",
    arguments: [
      "drill set", "verify set", "compress empty", "decompress empty", "test empty", "duplicates empty",
      "audit m t", "snapshots --diff $(ls set/*.manifest.zst | head -n 1 | grep -o '[0-9]*T[0-9]*Z') set",
      "backup --dry-run --to set t", "archive -o b.tar empty",
      "hash empty",
      "hash -o m2 t", "verify a.tar", "check m", "prune --keep-last 9 set", "copy set far",
    ])
  func fullAtSummary(arguments: String) throws {
    try t.shell(
      """
      mkdir empty; $BP hash -q t >m; $BP archive -q -o a.tar t
      for i in 1 2; do $BP backup -q --to set --full t; done
      """)
    let run = try t.shell("$BP \(arguments) --json >/dev/full")
    #expect(run.status == 5, "\(run.ending) \(run.errorText)")
    #expect(
      run.errorText.contains("standard output: cannot write: No space left on device"), "\(run.errorText)")
  }

  @Test(
    "a closed pipe ends the run without a message",
    arguments: ["hash t", "hash --json t", "check m", "hash -v -j 2 t"])
  func closedPipe(arguments: String) throws {
    try t.shell("cd t; for i in $(seq 2000); do : >file-with-a-long-name-$i; done")
    for ignored in ["", "env --ignore-signal=PIPE "] {
      let run = try t.shell(
        "$BP hash -q t >m; \(ignored)$BP \(arguments) | head -1 | wc -l; echo ${PIPESTATUS[0]}")
      #expect(run.text == "1\n141\n", "\(run.text)")
      #expect(run.errorText == "", "\(run.errorText)")
    }
  }

  @Test("a slow reader gets all output")
  func slowReader() throws {
    #expect(try readLate("$BP hash -q t").text == "0\n")
  }

  /// Runs a command whose output is read only after the pipe is full; prints its status, and how the output
  /// differs.
  private func readLate(_ command: String) throws -> Outcome {
    try t.shell(
      "for i in $(seq 2000); do : >t/file-with-a-long-name-$i; done; $BP hash -q t >m; mkfifo pipe go")
    let run = try t.startShell(
      "{ read <go; cat; } <pipe >late & \(command) >pipe; echo $?; wait; cmp late m")
    try #require(eventually { t.isFull("pipe") })
    try t.shell("echo >go")
    return run.wait()
  }

  @Test("an output that does not block is waited for")
  func nonBlocking() throws {
    let run = try readLate(
      "python3 -c \"import os; os.set_blocking(1, False); os.execv('$BP', ['batchproc', 'hash', '-q', 't'])\""
    )
    #expect(run.text == "0\n", "\(run.errorText)")
  }

  @Test(
    "no file is opened with the number of a closed standard stream",
    arguments: [
      (">&-", Int32(0)), ("2>&-", 0), ("<&-", 0), ("<&- >&- 2>&-", 0),
    ])
  func closedAtStart(closed: String, status: Int32) throws {
    let run = try t.shell(
      "$BP hash -v -o m t nosuch/ t/text \(closed); echo $? >status; sha256sum -c --quiet m; cat status")
    #expect(run.text == "3\n")
    #expect(t.names() == ["m", "status", "t"])
  }

  @Test("results for a closed output are an error")
  func closedOutput() throws {
    let run = try t.shell(
      "$BP hash t >&-; echo $?; $BP hash t/nosuch 2>&- 1>&-; echo $?; $BP --version >&-; echo $?")
    #expect(run.text == "5\n1\n5\n", "\(run.text)")
    #expect(run.errorText.contains("standard output: cannot write: Bad file descriptor"), "\(run.errorText)")
  }

  @Test("standard input is hashed as -, and a closed standard input is an error")
  func input() throws {
    #expect(
      try t.batchproc("hash", "-", input: Array("abc".utf8)).text
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -\n")
    let closed = try t.shell("$BP hash - <&-")
    #expect(closed.status != 0)
    #expect(closed.output.isEmpty)
    #expect(closed.messages.count == 1)
  }

  @Test("no run ends by a signal when its input comes late, in many runs")
  func lateInput() throws {
    let runs = Campaign.isFull ? 100 : 40
    let run = try t.shell(
      """
      for i in $(seq \(runs)); do
        $BP archive -q --format tar -o - t | $BP list -q - | wc -l
        statuses="${PIPESTATUS[*]}"; [ "$statuses" = "0 0 0" ] || echo "$statuses"
      done | sort | uniq -c
      """)
    #expect(run.text.split(separator: " ") == ["\(runs)", "7\n"], "\(run.text)")
  }

  @Test("input through a pipe in many pieces has the digest of the whole content")
  func pipedInput() throws {
    let run = try t.shell(
      """
      head -c 3000000 /dev/urandom >x; sha256sum <x >expected
      dd if=x bs=777 status=none | $BP hash - | cmp - expected; echo $?; $BP hash - <x | cmp - expected; echo $?
      """)
    #expect(run.text == "0\n0\n")
  }

  @Test("a folder as standard input is an error that names the reason")
  func folderAsInput() throws {
    let run = try t.shell("$BP hash - <t; echo $?; $BP check - <t; echo $?")
    #expect(run.text == "1\n1\n", "\(run.text)")
    #expect(run.errorText.contains("Is a directory"))
  }

  @Test("without environment, locale, terminal and home the output is the same")
  func cron() throws {
    try t.file("t/na\u{ef}ve", "1")
    try t.file(PathBytes("t/".utf8 + [0xff]), "2")
    let run = try t.shell(
      """
      $BP hash -q t >m
      for e in "" LC_ALL=C LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 LC_ALL=nonsense TZ=/nosuch HOME=/nosuch TERM=; do
        env -i $e setsid $BP hash t </dev/null 2>errors | cmp - m; grep -aP '\\x1b' errors
      done
      env -i setsid $BP check -q m </dev/null; echo $?
      """)
    #expect(run.text == "0\n", "\(run.text)")
    #expect(run.errorText == "")
  }

  @Test("in a working folder that was deleted, relative operands fail and absolute ones work")
  func deletedFolder() throws {
    let run = try t.shell(
      """
      echo x >file; p=$PWD; mkdir z; cd z; rm -r ../z
      $BP hash t; echo $?; $BP hash -o m $p/file; echo $?; $BP hash $p/file | wc -l; $BP hash .; echo $?
      """)
    #expect(run.text == "1\n5\n1\n1\n", "\(run.errorText)")
  }

  @Test("results go to standard output, and all messages to standard error")
  func separation() throws {
    let run = try t.batchproc("hash", "-v", "--progress", "plain", "t", "nosuch")
    #expect(run.rows.count == 5)
    #expect(run.rows.allSatisfy { $0.count > 66 })
    #expect(run.errorText.contains("nosuch") && run.errorText.contains("hashed 5 files"))
    let quiet = try t.batchproc("hash", "-q", "t", "nosuch")
    #expect(quiet.errorText == "batchproc: nosuch: cannot find: No such file or directory\n")
  }
}
