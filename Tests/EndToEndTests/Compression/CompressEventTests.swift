import BatchCore
import BatchEngine
import TestSupport
import Testing

/// `--json` of compress, decompress and test: rows that can be parsed, and a summary that is their sum.
@Suite(.enabled(if: Host.hasPython, "needs python3")) struct CompressEventTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir -p w/d; for i in $(seq 40); do seq $i 3000 >w/d/$i; done; seq 400000 >w/large; : >w/empty
      head -c 5000 /dev/urandom >w/noise; seq 9 | xz >w/packed; ln w/d/1 w/link; ln w/noise w/noise2; mkfifo w/pipe
      ln -s gone w/symlink; seq 4 >w/refused; echo foreign >w/refused.gz; touch -d @1 w/refused.gz
      seq 500 >w/$'new\\nline'; seq 501 >w/$'\\xff\\xfe'; head -c 3000000 /dev/urandom >w/large-noise
      """)
  }

  private static let judge = """
    import base64, collections, json, os, sys
    lines = [json.loads(line) for line in open('events', 'rb').read().decode().split('\\n')[:-1]]
    assert [line['seq'] for line in lines] == list(range(len(lines))), 'seq'
    assert all(line['schema'] == 2 for line in lines), 'schema'
    assert [l['type'] for l in lines].index('summary') == len(lines) - 1, 'summary'
    summary, rows = lines[-1], [l for l in lines if l['type'] == 'file']
    name = lambda l, key='path': base64.b64decode(l[key + '_b64']) if key + '_b64' in l else l[key].encode()
    problems = [l for l in lines if l['type'] == 'problem']
    outcomes = collections.Counter(row['outcome'] for row in rows)
    assert summary['seen'] == summary['done'] + summary['failed'] + summary['skipped'], summary
    assert summary['failed'] == sum(p['severity'] == 'failure' for p in problems), (summary, problems)
    assert len(set(map(name, rows))) == len(rows), 'twice'
    told = len(rows) + len(problems)
    written = [row for row in rows if row['outcome'] == 'written']

    """

  private func judge(_ command: String, status: Int32, _ test: String) throws {
    for concurrency in [1, 7] {
      try t.shell("rm -rf run; cp -a w run")
      let run = try t.shell("cd run && $BP \(command) --json -j \(concurrency) .")
      #expect(run.status == status, "\(run.text.suffix(600))")
      #expect(run.errors.isEmpty, "\(run.errorText)")
      try t.file("events", run.output)
      try t.file("judge.py", Self.judge + test)
      let verdict = try t.shell("python3 judge.py")
      #expect(verdict.status == 0, "\(command) \(concurrency): \(verdict.errorText)")
    }
  }

  private static let sums = """
    for word in ('written', 'up_to_date', 'compressed_already', 'not_smaller', 'linked'):
        assert summary[word] == outcomes[word], (word, summary, outcomes)
    assert summary['plain_bytes'] == sum(row['size'] for row in written)
    assert summary['compressed_bytes'] == sum(row['compressed'] for row in written)
    assert summary['done'] == outcomes['written'] + outcomes['linked'], (summary, outcomes)
    assert summary['seen'] == told, (summary['seen'], told, outcomes, problems)

    """

  @Test("compress: each source has one row or one problem, and the counts are their sums")
  func compress() throws {
    try judge(
      "compress", status: 3,
      Self.sums + """
        assert outcomes == {'written': 43, 'linked': 1, 'compressed_already': 1, 'not_smaller': 5}, outcomes
        assert sorted((p['event'], p['severity'], p['path']) for p in problems) == [
          ('special', 'note', './pipe'), ('special', 'note', './symlink'), ('unreadable', 'failure', './refused.gz')], problems
        for row in written:
            path, output = b'run/' + name(row), b'run/' + name(row, 'output')
            assert os.path.getsize(path) == row['size'] and os.path.getsize(output) == row['compressed'], row
            assert output == path + b'.gz', row
        """)
  }

  @Test("compress again: all rows say up to date")
  func compressAgain() throws {
    try t.shell("rm w/refused*; $BP compress -q w")
    try judge(
      "compress", status: 0,
      Self.sums + """
        assert outcomes == {'up_to_date': 44, 'compressed_already': 45, 'not_smaller': 4}, outcomes
        assert summary['complete'] is True
        """)
  }

  @Test("decompress: each source has one row or one problem, and the counts are their sums")
  func decompress() throws {
    try t.shell(
      "rm w/refused* w/link; $BP compress -q --remove-source w; echo bad >w/bad.gz; seq 5 | gzip >w/x.gz; cp w/x.gz w/x.xz"
    )
    try judge(
      "decompress", status: 3,
      """
      assert summary['written'] == outcomes['written'] == len(written) == 43, (summary, outcomes)
      assert summary['plain_bytes'] == sum(row['size'] for row in written)
      assert sorted(p['path'] for p in problems if p['severity'] == 'failure') == ['./bad.gz', './x.gz', './x.xz'], problems
      assert summary['done'] == 43 and summary['failed'] == 3, summary
      for row in written: assert os.path.getsize(b'run/' + name(row, 'output')) == row['size'], row
      """)
  }

  @Test("test: each compressed file has its row, with the kind and the place of the damage")
  func test() throws {
    try t.shell(
      "rm w/refused* w/link; $BP compress -q --remove-source w; cd w; head -c 300 large.gz >cut.gz; { cat d/1.gz; echo x; } >more.gz; : >none.gz"
    )
    try judge(
      "test", status: 4,
      """
      assert outcomes == {'whole': 44, 'truncated': 2, 'garbageAfterEnd': 1}, outcomes
      assert summary['damaged'] == 3 and summary['done'] == len(rows) and summary['failed'] == 0, summary
      places = {row['path']: row['offset'] for row in rows if row['outcome'] != 'whole' and 'path' in row}
      assert places == {'./cut.gz': 300, './more.gz': os.path.getsize('run/d/1.gz'), './none.gz': 0}, places
      """)
  }
}
