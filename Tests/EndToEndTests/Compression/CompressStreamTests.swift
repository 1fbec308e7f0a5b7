import BatchCore
import BatchEngine
import Glibc
import TestSupport
import Testing

/// `-`: standard input to standard output.
@Suite(.timeLimit(.minutes(3))) struct CompressStreamTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test(
    "the stock tool reads our streams and we read its: empty, one byte, a line, 19 MB",
    arguments: StockFormat.allCases,
    ["printf ''", "printf x", "echo hello", "{ seq 100000; head -c 17M /dev/zero; seq 50000; }"])
  func roundTrip(format: StockFormat, content: String) throws {
    let run = try t.shell(
      """
      \(content) >plain; $BP compress -l \(format.fastLevel) --format \(format) - <plain >ours; echo $?
      \(format.tool) -t <ours && \(format.tool) -dc <ours | cmp - plain; $BP decompress - <ours | cmp - plain; echo $?
      cat plain | \(format.encode) -1 | $BP decompress - | cmp - plain; echo ${PIPESTATUS[2]}
      """, seconds: 120)
    #expect(run.text == "0\n0\n0\n", "\(run.errorText)")
    let summaries = run.errorText.split(separator: "\n")
    #expect(summaries.count == 3)
    #expect(summaries.allSatisfy { $0.contains("compressed 1 file: ") }, "\(run.errorText)")
  }

  @Test(
    "a stream may arrive a few bytes at a time", .enabled(if: Host.hasPython), arguments: StockFormat.allCases
  )
  func slowly(format: StockFormat) throws {
    let run = try t.shell(
      """
      seq 200 | \(format.encode) >x
      python3 -c "
      import os, sys
      for byte in open('x', 'rb').read(): os.write(1, bytes([byte]))" | $BP decompress -q - | cmp - <(seq 200)
      """)
    #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
  }

  @Test(
    "a file that cannot be read is reported, and the files after it are written, at every size",
    .enabled(if: Host.canChangeUser), arguments: ["cat", "decompress -c", "test"], ["1k", "9M"])
  func unreadable(command: String, size: String) throws {
    let run = try t.shell(
      """
      mkdir w; echo 1 | gzip >w/a.gz; truncate -s \(size) w/b.gz; chmod 0 w/b.gz; echo 3 | gzip >w/c.gz
      setpriv --reuid=65534 --regid=65534 --clear-groups $BP \(command) -q w; echo $?
      """)
    #expect(run.text == (command == "test" ? "3\n" : "1\n3\n3\n"), "\(run.text)\(run.errorText)")
    #expect(run.messages.count == 1 && run.errorText.contains("w/b.gz"), "\(run.errorText)")
  }

  @Test(
    "a closed pipe ends the run without a message, also when the input is endless",
    arguments: [
      (.gz, ""), (.zst, "env --ignore-signal=PIPE "), (.xz, ""), (.lz4, "env --ignore-signal=PIPE "),
    ] as [(StockFormat, String)])
  func closedPipe(format: StockFormat, environment: String) throws {
    let run = try t.shell(
      """
      yes | \(environment)timeout 30 $BP compress --format \(format) -l 1 - | head -c 10 | wc -c; echo ${PIPESTATUS[1]}
      yes | \(format.encode) -1 | \(environment)timeout 30 $BP decompress - | head -c 10 | wc -c; echo ${PIPESTATUS[2]}
      """)
    #expect(run.text == "10\n141\n10\n141\n", "\(run.errorText)")
    #expect(run.messages.isEmpty, "\(run.errorText)")
  }

  @Test("a full standard output is an error", arguments: ["compress", "decompress"])
  func full(command: String) throws {
    let run = try t.shell("seq 500000 | gzip >x; $BP \(command) - <x >/dev/full")
    #expect(run.status == 5)
    #expect(
      run.errorText.contains("standard output: cannot write: No space left on device"), "\(run.errorText)")
  }

  @Test(
    "a stream is compressed and decompressed without environment and terminal",
    arguments: StockFormat.allCases)
  func bare(format: StockFormat) throws {
    let run = try t.shell(
      """
      seq 9000 >x; env -i setsid -w $BP compress --format \(format) - <x >y 2>e; echo $?
      env -i setsid -w $BP decompress - <y 2>>e | cmp - x; grep -c . e; grep -cP '[\\x00-\\x08\\x0b-\\x1f]' e
      """)
    #expect(run.text == "0\n2\n0\n", "\(run.errorText)")
  }

  @Test("- and files can be compressed in one run", arguments: ["-j 1", "-j 7"])
  func besidesFiles(concurrency: String) throws {
    let run = try t.shell(
      """
      mkdir w; seq 5000 >w/a; seq 6000 >w/b; seq 900000 >big
      $BP compress \(concurrency) --remove-source w/a - w/b <big >out.gz; echo $?; ls w; gzip -dc out.gz | cmp - big
      $BP decompress \(concurrency) w - <out.gz | cmp - big; cmp w/a <(seq 5000); cmp w/b <(seq 6000)
      """)
    #expect(run.text == "0\na.gz\nb.gz\n", "\(run.errorText)")
    #expect(run.messages.isEmpty)
  }

  @Test("a standard input that is closed, a folder or not compressed is an error that names it")
  func unreadable() throws {
    for (script, message) in [
      ("$BP compress - <&-", "cannot read: Bad file descriptor"),
      ("$BP decompress - <&-", "cannot read: Bad file descriptor"),
      ("$BP compress - </", "cannot read: Is a directory"),
      ("$BP decompress - </", "cannot read: Is a directory"),
      ("printf hello | $BP decompress -", "standard input is not gzip, zstd, xz, lz4 or bzip2 data"),
      ("seq 99 | $BP decompress -", "standard input is not gzip, zstd, xz, lz4 or bzip2 data"),
      ("$BP decompress - </dev/null", "truncated: the file ends too early"),
    ] {
      let run = try t.shell(script)
      #expect([1, 3].contains(run.status), "\(script): \(run.ending)")
      #expect(run.messages.map { $0.hasPrefix("batchproc: -: \(message)") } == [true], "\(run.errorText)")
    }
  }

  @Test(
    "damage ends the reading of a stream, also of an endless one, after the content before it was written",
    arguments: StockFormat.allCases.filter { $0 != .gz })
  func damage(format: StockFormat) throws {
    let run = try t.shell(
      """
      { seq 30000 | \(format.encode); yes garbage; } | timeout 30 $BP decompress - >x; echo ${PIPESTATUS[1]}
      cmp x <(seq 30000); seq 30000 | \(format.encode) | head -c -5 | $BP decompress - >x; echo $?
      """)
    #expect(run.text == "3\n3\n")
    #expect(
      run.messages.map { $0.prefix(32) }
        == [
          "batchproc: -: garbage after the end", "batchproc: -: truncated: the file",
        ].map { $0.prefix(32) }, "\(run.errorText)")
  }

  @Test("--max-output limits a stream", arguments: StockFormat.allCases)
  func bomb(format: StockFormat) throws {
    let run = try t.shell(
      "head -c 20M /dev/zero | \(format.encode) -1 | $BP decompress --max-output 1M - | wc -c; echo ${PIPESTATUS[2]}"
    )
    let rows = run.text.split(separator: "\n")
    #expect(rows.last == "3", "\(run.errorText)")
    #expect(Int(rows.first ?? "") ?? .max <= 1 << 20)
    #expect(run.messages.count == 1 && run.errorText.contains("larger than the limit when decompressed: "))
    #expect(run.errorText.contains(" times the size so far"), "\(run.errorText)")
  }
}
