import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Existing files with the name of an output, and several sources with one output.
@Suite(.timeLimit(.minutes(3))) struct CompressRefusalTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir w; seq 5000 >w/a; touch -d @1000000000.5 w/a; seq 6000 >w/b")
  }

  private func compress(_ arguments: PathBytes...) throws -> Outcome {
    try t.batchproc(["compress"] + arguments)
  }

  @Test(
    "an output with the time of its source is up to date; no source is opened", .enabled(if: Host.canTrace))
  func upToDate() throws {
    try t.writeTexts()
    #expect(try compress("w", "src").status == 0)
    let run = try t.shell(
      "strace -qq -f --seccomp-bpf -o trace -e trace=openat,open $BP compress w src/a; grep -v -e O_DIRECTORY -e /sys/ -e /proc/ trace"
    )
    #expect(run.errorText.contains("compressed 0 files"), "\(run.errorText)")
    #expect(run.errorText.contains("82 up to date"), "\(run.errorText)")
    #expect(!run.text.contains("\"a\"") && !run.text.contains("f1"), "\(run.text)")
    #expect(!run.text.contains(".gz\""))
  }

  @Test("an older output is replaced, and a newer one is kept unless forced")
  func olderAndNewer() throws {
    #expect(try compress("-q", "w").status == 0)
    try t.shell("seq 7000 >w/b; touch -d '+1 hour' w/b; touch w/a.gz")
    let run = try compress("w")
    #expect(run.status == 3)
    #expect(run.messages == ["batchproc: w/a.gz: is newer than its source and stays (--force replaces it)"])
    #expect(try t.shell("gzip -dc w/b.gz | cmp - w/b && echo same").text == "same\n")
    #expect(try compress("-q", "--force", "w/a").status == 0)
    #expect(try t.shell("stat -c %.9Y w/a.gz").text == "1000000000.500000000\n")
  }

  @Test("an older file that is not an output is not replaced", arguments: [6000, 600_000])
  func foreignFile(lines: Int) throws {
    // The lanes share the blocks of the larger file.
    try t.shell("seq \(lines) >w/b; echo mine >w/b.gz; touch -d @1 w/b.gz")
    let run = try compress("w")
    #expect(run.status == 3)
    #expect(
      run.messages == [
        "batchproc: w/b.gz: is in the way of the output: it is not compressed (--force replaces it)"
      ])
    #expect(try t.shell("cat w/b.gz").text == "mine\n")
    #expect(try compress("-q", "--force", "w/b").status == 0)
    #expect(try t.shell("gzip -dc w/b.gz | cmp - w/b && echo same").text == "same\n")
  }

  @Test(
    "a link, a folder or a pipe with the name of the output is refused and kept",
    arguments: ["ln -s ../canary", "mkdir", "mkfifo"])
  func inTheWay(make: String) throws {
    try t.shell("echo keep >canary; \(make) w/b.gz")
    let run = try t.shell("timeout 20 $BP compress --remove-source w")
    #expect(run.status == 3)
    #expect(run.messages.count == 1)
    #expect(run.messages.allSatisfy { $0.contains("w/b.gz") }, "\(run.messages)")
    let forced = try t.shell("timeout 20 $BP compress --force --json w")
    #expect(forced.status == (make.hasPrefix("ln") ? 0 : 3), "\(forced.errorText)")
    // A row reports an output only if it was written.
    #expect(forced.text.contains("\"path\":\"w/b\",\"outcome\"") == make.hasPrefix("ln"), "\(forced.text)")
    #expect(try t.shell("cat canary; cmp w/b <(seq 6000)").text == "keep\n")
  }

  @Test("a source that is its own output by a hard link is refused and kept")
  func ownOutput() throws {
    try t.shell("ln w/b w/b.gz")
    let run = try compress("--force", "w/b")
    #expect(run.status == 3)
    #expect(run.messages == ["batchproc: w/b: is its own output"])
    #expect(try t.shell("cmp w/b <(seq 6000) && stat -c %h w/b").text == "2\n")
  }

  @Test(
    "a file that two operands contain is compressed once",
    arguments: ["w w", "w w/a ./w/b", "w/a w/a w/b", "w//a w/./b w"])
  func overlapping(operands: String) throws {
    let run = try t.shell("$BP compress --remove-source -j 7 \(operands)")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.hasPrefix("compressed 2 files"), "\(run.errorText)")
    #expect(t.names(in: "w") == ["a.gz", "b.gz"])
  }

  @Test("of two sources with one output, the second is refused and kept")
  func oneOutputForTwo() throws {
    try t.shell("mkdir -p x/w; seq 99 >x/w/a; touch -d '+1 day' x/w/a")
    let run = try t.shell("cd x; $BP compress --force --remove-source --output-dir ../o w/a ../w/a")
    #expect(run.status == 3)
    #expect(run.messages == ["batchproc: ../w/a: has the same output as another source: ../o/w/a.gz"])
    #expect(
      try t.shell("gzip -dc o/w/a.gz | cmp - <(seq 99); cmp w/a <(seq 5000) && echo both").text == "both\n")
  }

  /// Files that are compressed, and files that are copied: of these, all but `c.gz` have the name of an output.
  private static let copies = """
    mkdir s; seq 5000 >s/a; echo 1 | gzip >s/a.gz; seq 340000 >s/b; head -c 2200K /dev/urandom >s/b.gz
    seq 330000 >s/d; head -c 2200K /dev/urandom | gzip -1 >s/d.gz; echo 2 | gzip >s/c.gz; ln s/c.gz s/h.gz
    seq 4000 >s/h; touch -d @1000000000 s/a s/b s/d s/h; for i in 1 2 3; do seq 3000 >s/a-$i; done
    check() {
      for n in 'a 5000' 'b 340000' 'd 330000' 'h 4000'; do set -- $n; gzip -dc o/s/$1.gz | cmp - <(seq $2); done
      cmp s/c.gz o/s/c.gz; ls s | tr '\\n' ' '
    }
    """

  @Test("a later output does not replace the copy of an earlier operand, at every concurrency")
  func laterOutput() throws {
    let run = try t.shell(
      """
      for j in 1 2 7 32; do rm -rf x w; mkdir -p x w/x w/out/x; echo gz | gzip >x/a.gz; touch -d 2020-01-01 x/a.gz; yes plain | head -2000 >w/x/a
      (cd w; $BP compress -q -j $j --output-dir out --copy-others ../x x; echo $?; gunzip -c out/x/a.gz); done
      """)
    #expect(run.text == String(repeating: "3\ngz\n", count: 4), "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("x/a: has the same output as another source"), "\(run.errorText)")
  }

  @Test("an older output of a further name is reported if the first name gets no output")
  func olderOutput() throws {
    let run = try t.shell(
      """
      mkdir u; cd u; yes old | head -1000 >y; touch -d 2020-01-01 y; $BP compress -q y; head -c 5000 /dev/urandom >y; ln y a
      $BP compress -q .; echo $?; gunzip -c y.gz | head -1
      """)
    #expect(run.text == "3\nold\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("./y: gets no output"), "\(run.errorText)")
  }

  @Test(
    "a copy that would have the name of another source's output is refused, also after that source was removed",
    arguments: ["s", "s/*", "s/?.gz s/?"], ["-j 1", "-j 7 --stride 1"])
  func copies(operands: String, options: String) throws {
    let run = try t.shell(
      """
      \(Self.copies)
      run() { $BP compress --no-fsync --remove-source --output-dir o --copy-others \(options) $*; echo $?; check; }
      run \(operands) 2>first; run s 2>again
      """)
    let left = "a.gz b.gz c.gz d.gz h.gz "
    #expect(
      run.text.replacing("a-1 a-2 a-3 ", with: "") == "3\n\(left)3\n\(left)", "\(run.text)\(run.errorText)")
    let names = ["a.gz", "b.gz", "d.gz", "h.gz"]
    let first = try t.shell("grep -a ' s/' first | sort").text
    #expect(
      first
        == names.map { "batchproc: s/\($0): has the same output as another source: o/s/\($0)\n" }.joined(),
      "\(first)")
    let again = try t.shell("grep -a ' o/s/' again | sort").text
    #expect(
      again
        == names.map {
          "batchproc: o/s/\($0): may be the only copy of a source that was removed, and is kept (--replace replaces it)\n"
        }.joined(), "\(again)")
  }

  @Test("a dry run refuses such a copy, and so does each shard of a plan")
  func copiesOfPlan() throws {
    let run = try t.shell(
      """
      \(Self.copies)
      $BP compress --dry-run --output-dir o --copy-others s 2>/dev/null >would; echo $?; grep -c 'o/s/[ah].gz$' would
      $BP plan -q --no-fsync --shards 4 --out p -- compress --stride 1 --remove-source --output-dir o --copy-others s
      for i in 0 1 2 3; do $BP compress -q --no-fsync --plan p --shard $i; done 2>errors
      check; grep -c 'has the same output' errors
      """)
    #expect(
      run.text.replacing("a-1 a-2 a-3 ", with: "") == "3\n2\na.gz b.gz c.gz d.gz h.gz 4\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("compressed files with one output are all refused")
  func rivals() throws {
    try t.shell("cd w; gzip -k b; zstd -q b; rm b; xz a")
    let run = try t.batchproc("decompress", "--remove-source", "w")
    #expect(run.status == 3)
    #expect(run.messages.count == 2)
    #expect(run.messages.allSatisfy { $0.contains("neither is written") }, "\(run.messages)")
    #expect(t.names(in: "w") == ["a", "b.gz", "b.zst"])
  }

  @Test("a file next to an operand that is no operand itself does not count as a second source")
  func beside() throws {
    try t.shell("cd w; gzip -k a; zstd -q a b; gzip -k b; rm a b")
    let run = try t.batchproc("decompress", "-q", "w/a.zst", "w/b.zst")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(t.names(in: "w") == ["a", "a.gz", "a.zst", "b", "b.gz", "b.zst"])
    #expect(try t.shell("rm w/a w/b; $BP decompress w/a.zst").status == 0)
    let both = try t.batchproc("decompress", "w/b.gz", "w/b.zst")
    #expect(both.status == 3)
    #expect(both.messages.count == 2, "\(both.messages)")
    #expect(!t.exists("w/b"))
  }

  @Test("a source is removed when an earlier run has written the right output")
  func finishesRemoval() throws {
    #expect(try compress("-q", "w").status == 0)
    let run = try compress("--remove-source", "w/a")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(t.names(in: "w") == ["a.gz", "b", "b.gz"])
  }

  @Test("a source is kept when the file with its time and its output's name has another content")
  func sameTimeOtherContent() throws {
    try t.shell("seq 4 >w/x; touch -r w/a w/x; gzip -c w/x >w/a.gz; touch -r w/a w/a.gz; rm w/x; cp w/a.gz k")
    let run = try compress("--remove-source", "w/a")
    #expect(run.status == 3)
    #expect(
      run.messages == [
        "batchproc: w/a.gz: has the time of its source and not its content: both stay (--force replaces it)"
      ])
    #expect(try t.shell("cmp k w/a.gz; cmp w/a <(seq 5000) && echo both").text == "both\n")
  }

  @Test("a folder of outputs within the tree is not walked")
  func outputsBelowTheTree() throws {
    for turn in 0..<2 {
      let run = try compress("--compress-all", "-v", "--force", "--output-dir", "w/out", "w")
      #expect(run.status == 0)
      #expect(run.errorText.contains("compressed 2 files"), "\(turn): \(run.errorText)")
    }
    #expect(try t.shell("find w/out -type f | sort").text == "w/out/w/a.gz\nw/out/w/b.gz\n")
  }

  @Test("outputs of earlier runs are not compressed, also with --compress-all")
  func outputsAreNoSources() throws {
    #expect(try compress("-q", "w").status == 0)
    #expect(try compress("-q", "--compress-all", "w").status == 0)
    #expect(t.names(in: "w") == ["a", "a.gz", "b", "b.gz"])
  }

  @Test("operands with .. and absolute operands are mirrored below the folder")
  func mirroring() throws {
    let run = try t.shell(
      "mkdir -p x/y; cd x/y; $BP compress --output-dir o ../../w/a $PWD/../../w/b; find . -type f | sort")
    #expect(run.status == 0)
    #expect(run.text == "./o\(t.root)/x/y/w/b.gz\n./o/w/a.gz\n")
  }

  @Test("invalid levels, suffixes and formats are refused before any file is read")
  func wrongUsage() throws {
    for arguments: [PathBytes] in [
      ["-l", "13", "w"], ["--format", "xz", "-l", "10", "w"], ["--format", "zst", "-l", "23", "w"],
      ["--suffix", "", "w"], ["--suffix", "/x", "w"], ["--format", "bz2", "w"], ["-l", "-1", "w"],
    ] {
      let run = try t.batchproc(["compress"] + arguments)
      #expect([1, 64].contains(run.status), "\(arguments)")
      #expect(!run.errorText.isEmpty)
    }
    #expect(t.names(in: "w") == ["a", "b"])
  }

  @Test("a missing operand is named", arguments: ["compress", "decompress", "test"])
  func missing(command: PathBytes) throws {
    let run = try t.batchproc(command, "nosuch")
    #expect(run.status == 1)
    #expect(run.messages == ["batchproc: nosuch: cannot find: No such file or directory"], "\(run.messages)")
  }

  @Test("compressed data is not written to a terminal", .enabled(if: Host.hasPython))
  func terminal() throws {
    let run = try t.shell(
      #"""
      python3 -c '
      import pty, os, sys
      s = pty.spawn(["sh", "-c", "$BP compress - <w/a"])
      sys.exit(os.waitstatus_to_exitcode(s))' </dev/null
      """#)
    #expect(run.status == 1)
    #expect(run.text.contains("compressed data is not written to a terminal"), "\(run.text)")
    #expect(run.output.count < 300)
  }

  @Test("--json and a compressed stream cannot share standard output", arguments: ["compress", "decompress"])
  func eventsAndStream(command: PathBytes) throws {
    let run = try t.batchproc(command, "--json", "-")
    #expect(run.status == 64)
    #expect(run.output.isEmpty)
  }
}
