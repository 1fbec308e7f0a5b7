import BatchCore
import BatchEngine
import TestSupport
import Testing

/// The output of `--json`, read with another parser.
@Suite(.enabled(if: Host.hasPython, "needs python3")) struct EventTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
  }

  /// Checks the rules for each stream of events, then runs `test` with `lines` and the `summary`.
  private func judge(_ run: Outcome, _ test: String = "pass") throws {
    try t.file("events", run.output)
    let verdict = try t.shell(
      """
      python3 - <<'END'
      import base64, json
      lines = [json.loads(line) for line in open('events', 'rb').read().decode().split('\\n')[:-1]]
      assert [line['seq'] for line in lines] == list(range(len(lines))), 'seq'
      assert all(line['schema'] == 2 for line in lines), 'schema'
      assert [i for i, line in enumerate(lines) if line['type'] == 'summary'] == [len(lines) - 1], 'summary'
      summary = lines[-1]
      assert summary['seen'] == summary['done'] + summary['failed'] + summary['skipped'], summary
      names = [base64.b64decode(l['path_b64']) if 'path_b64' in l else l['path'].encode() for l in lines if l['type'] == 'file']
      problems = [l for l in lines if l['type'] == 'problem']
      \(test)
      END
      """)
    #expect(verdict.status == 0, "\(verdict.errorText)")
  }

  @Test(
    "a file with a lease of another program is named at once, with a remedy",
    .enabled(if: Host.hasPython))
  func lease() throws {
    let run = try t.shell(
      """
      echo a >leased; echo b >free; mkfifo end
      python3 -c 'if True:
        import fcntl, signal, sys
        signal.signal(signal.SIGIO, signal.SIG_IGN)
        file = open("leased", "r+")
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        open("ready", "w")
        open("end").read()' & holder=$!
      until [ -e ready ]; do sleep 0.01; done
      $BP hash -q leased free >out; echo $?; wc -l <out; echo >end; wait $holder
      """)
    #expect(run.text == "3\n1\n", "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.contains(
        "leased: cannot open: Resource temporarily unavailable (another program holds a lease on it; run again when that has closed it)"
      ), "\(run.errorText)")
    #expect(!run.errorText.contains("--max-concurrency"))
  }

  @Test("each name is given with all its bytes")
  func names() throws {
    for name in NameTests.nasty + NameTests.singleBytes {
      try t.file(PathBytes("n").appending(name.bytes), "")
    }
    let run = try t.batchproc("hash", "--json", "n")
    #expect(run.status == 0)
    try judge(run, "import os; assert sorted(names) == sorted(b'n/' + n for n in os.listdir(b'n')), names")
    let controls: Set<UInt8> = Set(0..<0x20).union([0x7f]).subtracting([0x0a])
    #expect(controls.isDisjoint(with: run.output))
    #expect(run.errors.isEmpty)
  }

  @Test(
    "digests, sizes and problems are given, and the counts add up", arguments: ["1", "2", "7"] as [PathBytes])
  func content(concurrency: PathBytes) throws {
    try t.shell("mkfifo t/fifo; ln -s x t/link; printf abc >t/text")
    let run = try t.batchproc("hash", "--json", "-a", "sha256", "-a", "md5", "-j", concurrency, "t", "nosuch")
    #expect(run.status == 3)
    #expect(run.errors.isEmpty)
    try judge(
      run,
      """
      assert (summary['seen'], summary['done'], summary['failed'], summary['skipped']) == (8, 5, 1, 2), summary
      assert summary['bytes'] == 200007 and summary['complete'] is True, summary
      text = [l for l in lines if l.get('path') == 't/text'][0]
      assert 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' in json.dumps(text), text
      assert '900150983cd24fb0d6963f7d28e17f72' in json.dumps(text), text
      assert sorted((p['event'], p['severity'], p['path']) for p in problems) == [
        ('missing', 'failure', 'nosuch'), ('special', 'note', 't/fifo'), ('special', 'note', 't/link')], problems
      """)
  }

  @Test("check gives the outcome of each entry, and the counts add up")
  func check() throws {
    try t.file("m", try t.batchproc("hash", "t").output + Array("nonsense\n".utf8))
    try t.shell("echo changed >t/text; rm t/d/one")
    let run = try t.batchproc("check", "--json", "m")
    #expect(run.status == 4)
    try judge(
      run,
      """
      outcomes = {l['path']: l['outcome'] for l in lines if l['type'] == 'file'}
      assert outcomes == {'t/big': 'matches', 't/empty': 'matches', 't/text': 'differs', 't/d/one': 'missing',
        't/d/two': 'matches'}, outcomes
      assert (summary['matches'], summary['differs'], summary['missing'], summary['malformed']) == (3, 1, 1, 1), summary
      """)
  }

  @Test(
    "a dry run, an output in a file, and a run without files have a summary too",
    arguments: [
      ["--dry-run", "t"], ["-o", "m", "t"], ["nosuch"], ["--exclude", "*", "t"],
    ] as [[PathBytes]])
  func others(arguments: [PathBytes]) throws {
    try judge(try t.batchproc(["hash", "--json"] + arguments))
  }

  @Test("an error that ends the run is an event too")
  func fatal() throws {
    let run = try t.batchproc("hash", "--json", "--files-from", "nosuch")
    #expect(run.status == 1)
    try t.file("events", run.output)
    let verdict = try t.shell(
      "python3 -c \"import json; print(json.loads(open('events').readline())['type'])\"")
    #expect(verdict.text == "error\n", "\(run.text) \(run.errorText)")
  }

  @Test("each line of the JSON manifest can be parsed, and the manifest verifies")
  func manifest() throws {
    for name in NameTests.nasty { try t.file(PathBytes("n").appending(name.bytes), name.bytes) }
    let run = try t.shell(
      """
      $BP hash --format json -o m n; echo $?
      python3 -c "import json; [json.loads(l) for l in open('m', 'rb')]"; echo $?; $BP check -q m; echo $?
      """)
    #expect(run.text == "0\n0\n0\n", "\(run.errorText)")
  }
}
