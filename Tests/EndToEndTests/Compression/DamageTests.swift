import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Damaged files are refused when the stock tool refuses them, the kind of damage is named, and no output is
/// left.
@Suite(.timeLimit(.minutes(5))) struct DamageTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir w")
  }

  /// Damages a file at places that follow from a seed, runs the stock tool and ours, and prints the
  /// differences.
  private static let judge = #"""
    import json, os, random, subprocess, sys
    form, tool, seed = sys.argv[1], sys.argv[2].split(), int(sys.argv[3])
    random.seed(seed)
    whole = open('whole', 'rb').read()
    for number in range(70):
        data = bytearray(whole)
        at = random.randrange(len(data))
        kind = number % 7
        if kind == 0: data[at] ^= 1 << random.randrange(8)
        elif kind == 1: data = data[:at]
        elif kind == 2: data[at:at + 1] = b''
        elif kind == 3: data[at:at] = random.randbytes(random.randrange(1, 9))
        elif kind == 4: data[at:at + 64] = bytes(min(64, len(data) - at))
        elif kind == 5: data += random.randbytes(random.randrange(1, 40))
        else:
            at = random.choice([random.randrange(20), len(data) - 1 - random.randrange(20)])
            data[at] = random.randrange(256)
        open('w/%03d.%s' % (number, form), 'wb').write(data)
    ours = subprocess.run([os.environ['BP'], 'test', '--json', 'w'], stdout=subprocess.PIPE)
    rows = [json.loads(line) for line in ours.stdout.splitlines()]
    found = {row['path']: row['outcome'] for row in rows if row['type'] == 'file'}
    problems = [row for row in rows if row['type'] == 'problem']
    assert ours.returncode == 4 and rows[-1]['type'] == 'summary', ours
    assert rows[-1]['damaged'] == sum(o != 'whole' for o in found.values()), rows[-1]
    back = subprocess.run([os.environ['BP'], 'decompress', '-q', '--output-dir', 'o', 'w'], stderr=subprocess.PIPE)
    bad = 0
    for number in range(70):
        name = 'w/%03d.%s' % (number, form)
        with open(name, 'rb') as file:
            stock = subprocess.run(tool + ['-dc'], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        path = 'o/' + name[:-len(form) - 1]
        content = open(path, 'rb').read() if os.path.exists(path) else None
        outcome = found.get(name, 'problem')
        # gzip warns of bytes after the members, or treats them as a new member, and writes the content of all
        # members.
        warned = stock.returncode > 0 and form == 'gz' and outcome == 'garbageAfterEnd'
        if (stock.returncode == 0) != (outcome == 'whole') and not warned:
            print(name, 'kind', number % 7, 'stock', stock.returncode, 'ours', outcome)
        if stock.returncode == 0 or warned:
            if content != stock.stdout: print(name, 'another content', outcome)
        elif content is not None: print(name, 'an output of damage', outcome)
        bad += outcome != 'whole'
    assert back.returncode == 3, back
    left = [n for _, _, names in os.walk('o') for n in names if n.startswith('.')]
    print(bad > 50, left)
    """#

  @Test(
    "a damaged file is refused or read like by the stock tool",
    .enabled(if: Host.hasPython), arguments: StockFormat.allCases, [1, 2])
  func anywhere(format: StockFormat, seed: Int) throws {
    try t.file("judge.py", Self.judge)
    // Two members or frames of text and noise, so that there are blocks of each kind.
    let run = try t.shell(
      """
      { seq 3000; head -c 3000 /dev/urandom; } | \(format.encode) >whole; seq 4000 9000 | \(format.encode) >>whole
      python3 judge.py \(format) '\(format.tool)' \(seed)
      """)
    #expect(run.text == "True []\n", "\(run.errorText.suffix(800))")
  }

  @Test(
    "damage in a large file of several blocks is found", .enabled(if: Host.hasPython),
    arguments: StockFormat.allCases
  )
  func large(format: StockFormat) throws {
    let run = try t.shell(
      """
      { head -c 1M /dev/urandom; seq 100000; head -c 6M /dev/zero; head -c 1M /dev/urandom; } >plain
      $BP compress -q -l \(format.fastLevel) --compress-all --format \(format) --suffix '' plain 2>/dev/null
      $BP compress -q -l \(format.fastLevel) --compress-all --format \(format) plain; size=$(stat -c %s plain.\(format))
      for at in 100 $((size / 3)) $((size / 2)) $((size - 100000)); do
        cp plain.\(format) w/$at.\(format); head -c 16 /dev/urandom | dd of=w/$at.\(format) bs=1 seek=$at conv=notrunc status=none
      done
      cp plain.\(format) w/whole.\(format); head -c -9 plain.\(format) >w/cut.\(format)
      $BP test w; echo $?; $BP decompress -q w; ls w | grep -v '\\.'; cmp w/whole plain
      """)
    #expect(run.text == "4\nwhole\n", "\(run.errorText)")
    #expect(run.messages.filter { $0.contains("w/cut.\(format): truncated") }.count == 2, "\(run.errorText)")
    #expect(run.messages.count == 10)
    #expect(try t.allTemporaries() == "")
  }

  @Test("each kind of damage is named", arguments: StockFormat.allCases)
  func kinds(format: StockFormat) throws {
    // The distance of the content's check from the end: it precedes the length in gz and the index in xz.
    let back = [StockFormat.gz: 8, .zst: 4, .xz: 28, .lz4: 4][format] ?? 4
    let run = try t.shell(
      """
      cd w; seq 9000 | \(format.encode) >x; : >a-empty.\(format); head -c 6 x >b-start.\(format)
      head -c 500 x >c-middle.\(format); head -c -1 x >d-end.\(format); cp x e-check.\(format)
      at=$(($(stat -c %s x) - \(back))); byte=$(od -An -tu1 -j$at -N1 x)
      printf "\\\\x$(printf %x $((byte ^ 1)))" | dd of=e-check.\(format) bs=1 seek=$at conv=notrunc status=none
      { cat x; echo garbage; } >f-garbage.\(format); seq 9000 >g-plain.\(format); cp x h-whole.\(format)
      head -c 100 /dev/zero >i-zeros.\(format); rm x; cd ..; $BP test w; echo $?
      """)
    #expect(run.text == "4\n")
    let kinds = [
      "a-empty.\(format): truncated", "b-start.\(format): truncated", "c-middle.\(format): truncated",
      "d-end.\(format): truncated", "e-check.\(format): wrong checksum",
      "f-garbage.\(format): garbage after the end of the compressed data, at byte ",
      "g-plain.\(format): not in the compressed format that it should have",
      "i-zeros.\(format): not in the compressed format that it should have",
    ]
    #expect(run.messages.count == kinds.count, "\(run.errorText)")
    for (message, kind) in zip(run.messages, kinds) { #expect(message.hasPrefix("batchproc: w/" + kind)) }
    #expect(
      run.errorText.contains("tested 9 files") && run.errorText.contains("8 damaged"), "\(run.errorText)")
  }

  @Test(
    "other bytes after gzip members, also zeros before a member, are a failure, and the content and the source are kept",
    arguments: ["echo garbage", "head -c 512 /dev/zero; echo more | gzip"])
  func garbageBehindGzip(rest: String) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      { seq 9000 | gzip; \(rest); } >w/x.gz
      ends decompress $BP decompress --remove-source w
      ls w | says names
      cmp w/x <(seq 9000)
      $BP cat -q w/x.gz >content
      echo "cat: $?"
      cmp content w/x
      gzip -dc w/x.gz >content
      echo "gzip: $?"
      cmp content w/x
      """)
    run.expectSteps(["decompress": "3", "names": "x x.gz", "cat": "3", "gzip": "2"])
    let messages = run.messages.filter { !$0.hasPrefix("gzip") && !$0.isEmpty }
    #expect(messages.count == 2, "\(run.errorText)")
    #expect(messages.allSatisfy { $0.hasPrefix("batchproc: w/x.gz: garbage after the end") })
  }

  @Test(
    "a bomb is refused when it exceeds the limit, with its ratio, and no output is left",
    arguments: StockFormat.allCases)
  func bombs(format: StockFormat) throws {
    let run = try t.shell(
      """
      head -c 20M /dev/zero | \(format.encode) -1 >w/bomb.\(format); seq 9000 | \(format.encode) >w/fine.\(format)
      $BP decompress --max-output 1M w; echo $?; ls w
      """)
    #expect(run.text == "3\nbomb.\(format)\nfine\nfine.\(format)\n", "\(run.errorText)")
    #expect(run.messages.count == 1)
    #expect(
      run.messages.allSatisfy {
        $0.hasPrefix("batchproc: w/bomb.\(format): larger than the limit when decompressed: ")
          && $0.hasSuffix(" times the size so far")
      }, "\(run.messages)")
    // An output of exactly the limit is accepted.
    let size = try t.shell("stat -c %s w/fine").text.dropLast()
    #expect(try t.shell("$BP decompress -q --force --max-output \(size) w/fine.\(format)").status == 0)
    #expect(
      try t.shell("$BP decompress -q --force --max-output $((\(size) - 1)) w/fine.\(format)").status == 3)
  }

  @Test("an empty gzip member with an incomplete code is damaged in a file and in a stream, as for gunzip")
  func incompleteCode() throws {
    let member =
      #"\37\213\10\0\0\44\0\0\2\3\15\216\311\1\300\60\10\303\376\232\46\70\140\222\375\27\153\7\320\161\0\0\0\0\0\0\0\0\0\0"#
    let run = try t.shell(
      """
      printf '\(member)' >w/x.gz; gunzip -t w/x.gz 2>note; echo $?
      $BP test -q w/x.gz; echo $?; $BP test -q <w/x.gz; echo $?; $BP cat <w/x.gz; echo $?
      """)
    #expect(run.text == "1\n4\n4\n3\n", "\(run.text)\(run.errorText)")
  }
}
