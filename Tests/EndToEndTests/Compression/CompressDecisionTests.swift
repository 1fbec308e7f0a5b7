import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Which files get an output, and its name and place.
@Suite(.timeLimit(.minutes(3))) struct CompressDecisionTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir -p w/d; seq 5000 >w/a; seq 6000 >w/d/b; touch -d @1000000000.123456789 w/a w/d/b")
  }

  @Test(
    "a second run opens no source, writes no file and reports that",
    .enabled(if: Host.canTrace, "needs strace"),
    arguments: StockFormat.allCases, ["compress --format", "decompress --max-output 1G #"])
  func secondRun(format: StockFormat, command: String) throws {
    let isCompressing = command.hasPrefix("compress")
    try t.shell("$BP compress -q --format \(format) w")
    if !isCompressing { try t.shell("rm w/a w/d/b; $BP decompress -q w") }
    let before = try t.shell("find . -printf '%p %i %T@ %C@\n' | sort").text
    let run = try t.shell(
      """
      strace -qq -f --seccomp-bpf -y -o ../trace -e trace=openat,open,openat2 \
        $BP \(isCompressing ? "compress --format \(format)" : "decompress") w; s=$?
      grep -E '"(a|b)[.a-z0-9]*"' ../trace; rm ../trace; exit $s
      """.replacing("../trace", with: "\(t.root).trace"))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.text == "")
    #expect(run.errorText.contains("2 up to date"), "\(run.errorText)")
    #expect(try t.shell("find . -printf '%p %i %T@ %C@\n' | sort").text == before)
  }

  @Test("decompress keeps existing files, unless --update or --force replaces them")
  func olderAndNewer() throws {
    try t.shell(
      "gzip -r w; $BP decompress -q w; seq 7 | gzip >w/a.gz; touch -d '+1 hour' w/a.gz; echo mine >w/d/b")
    let kept = try t.batchproc("decompress", "w")
    #expect(kept.status == 3)
    #expect(
      kept.messages == [
        "batchproc: w/a: exists already and is kept (--force replaces it)",
        "batchproc: w/d/b: exists already and is kept (--force replaces it)",
      ])
    let run = try t.batchproc("decompress", "--update", "w")
    #expect(run.status == 3)
    #expect(run.messages == ["batchproc: w/d/b: is newer than its source and stays (--force replaces it)"])
    #expect(run.errorText.contains("1 replaced"), "\(run.errorText)")
    #expect(try t.shell("cmp w/a <(seq 7); cat w/d/b").text == "mine\n")
    #expect(try t.batchproc("decompress", "-q", "--force", "w").status == 0)
    #expect(try t.shell("cmp w/d/b <(seq 6000)").text == "")
  }

  @Test(
    "content that repeats only beyond gzip's window is compressed by zst and xz",
    .enabled(if: Host.hasPython, "needs python3"), arguments: [StockFormat.zst, .xz])
  func farRepeats(format: StockFormat) throws {
    try t.shell(
      """
      python3 -c 'import random; r = random.Random(7); b = r.randbytes(300000); open("n", "wb").write(b + b[:40000])'
      """)
    let run = try t.batchproc("compress", "--format", PathBytes(format.rawValue), "n")
    #expect(run.errorText.hasPrefix("compressed 1 file:"), "\(run.errorText)")
    #expect(try t.shell("\(format.tool) -dc n.\(format) | cmp - n && stat -c %s n.\(format)").text < "305000")
  }

  @Test(
    "content that is already compressed is recognized under any name, skipped and counted",
    arguments: [
      "gzip -c", "zstd -qc", "xz -c", "lz4 -qc", "lz4 -qcl", "bzip2 -c", "tee",
    ])
  func compressedAlready(tool: String) throws {
    let isPlain = tool == "tee"
    let names = isPlain ? ["plain.gz", "plain.zip", "plain.jpg"] : ["log", "log.txt", "noext"]
    for name in names { try t.shell("seq 3000 | \(tool) >w/\(name)") }
    let run = try t.batchproc("compress", "w")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.hasPrefix("compressed \(isPlain ? 5 : 2) files"), "\(run.errorText)")
    #expect(run.errorText.contains("3 compressed already") == !isPlain, "\(run.errorText)")
    for name in names { #expect(t.exists(PathBytes("w/\(name).gz")) == isPlain) }
    // --compress-all compresses these files as well.
    let all = try t.batchproc("compress", "--compress-all", "w")
    #expect(all.errorText.hasPrefix("compressed \(isPlain ? 0 : 3) files"), "\(all.errorText)")
    for name in names { #expect(try t.shell("gzip -dc w/\(name).gz | cmp - w/\(name)").status == 0) }
  }

  @Test(
    "a file that would not become smaller is skipped and counted, also one of several blocks",
    arguments: StockFormat.allCases)
  func notSmaller(format: StockFormat) throws {
    // At this level this is more than two blocks of the format.
    let kibibytes = [StockFormat.gz: 2_100, .zst: 16_800][format] ?? 8_400
    try t.shell(
      "head -c 9000 /dev/urandom >w/noise; : >w/empty; head -c \(kibibytes)K /dev/urandom >w/big")
    let (level, format) = (PathBytes("\(format.fastLevel)"), PathBytes(format.rawValue))
    let run = try t.batchproc("compress", "-l", level, "--format", format, "--remove-source", "w")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.errorText.contains("3 would not be smaller"), "\(run.errorText)")
    #expect(t.names(in: "w").filter { !$0.bytes.starts(with: "a.".utf8) } == ["big", "d", "empty", "noise"])
    #expect(try t.allTemporaries() == "")
    guard format != "xz" else { return }
    let all = try t.batchproc("compress", "-l", level, "--format", format, "--compress-all", "w")
    #expect(all.errorText.contains("compressed 5 files"), "\(all.errorText)")
  }

  @Test(
    "an older output is replaced also if the new one is not smaller: it would keep the old content",
    arguments: [
      "head -c 4000 /dev/urandom", "head -c 5M /dev/urandom", "seq 5000 | gzip",
      "head -c 5M /dev/urandom | gzip", ":",
    ], ["", "--output-dir o --copy-others", "--remove-source --force"])
  func replacedByLarger(content: String, options: String) throws {
    let run = try t.shell(
      """
      $BP compress -q w/a; mkdir -p o/w; cp -a w/a.gz o/w; { \(content); } >w/a; cp w/a new
      $BP compress \(options) w/a; echo $?
      """)
    #expect(run.text == "0\n" && run.errorText.contains("1 replaced"), "\(run.text)\(run.errorText)")
    let output = options.hasPrefix("--output") ? "o/w/a.gz" : "w/a.gz"
    #expect(try t.shell("gzip -dc \(output) | cmp - new").status == 0)
    #expect(t.exists("w/a") != options.hasPrefix("--remove-source") && !t.exists("o/w/a"))
  }

  @Test("--suffix changes the suffix, and outputs are mirrored below a folder")
  func naming() throws {
    let run = try t.batchproc("compress", "--suffix", "~z", "--output-dir", "o/p", "./w//", "w/a")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("find o -type f | sort").text == "o/p/w/a~z\no/p/w/d/b~z\n")
    #expect(
      try t.shell("gzip -dc <o/p/w/a~z | cmp - w/a; stat -c %.9Y o/p/w/a~z").text == "1000000000.123456789\n")
    #expect(t.names(in: "w") == ["a", "d"])
  }

  @Test(
    "a dry run names the outputs and writes no file",
    arguments: ["compress w", "compress --output-dir o w", "decompress z", "compress --json w"])
  func dryRun(command: String) throws {
    try t.shell("cp -r w z; gzip -r z")
    let before = try t.shell("find . -printf '%p %i %s %T@ %C@\n' | sort").text
    let run = try t.shell("$BP \(command) --dry-run --remove-source --force")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.shell("find . -printf '%p %i %s %T@ %C@\n' | sort").text == before)
    if command == "compress w" { #expect(run.text == "w/a.gz\nw/d/b.gz\n") }
    if command == "decompress z" { #expect(run.text == "z/a\nz/d/b\n") }
    if command.contains("-dir") { #expect(run.text == "o/w/a.gz\no/w/d/b.gz\n") }
  }

  @Test("the output name is the name without the suffix, and .tgz and the like become .tar")
  func suffixes() throws {
    let run = try t.shell(
      """
      mkdir x; tar -c w | tee x/1.tar x/2.tar x/3.tar >/dev/null; cd x
      gzip 1.tar; mv 1.tar.gz 1.tgz; zstd -q --rm 2.tar; mv 2.tar.zst 2.tzst; xz 3.tar; mv 3.tar.xz 3.txz
      seq 5 | gzip >.gz; seq 5 >4.gz; seq 5 | zstd -q >5.gz; cd ..; $BP decompress x; ls -A x
      """)
    #expect(run.text == ".gz\n1.tar\n1.tgz\n2.tar\n2.tzst\n3.tar\n3.txz\n4.gz\n5\n5.gz\n", "\(run.text)")
    #expect(run.messages == ["batchproc: x/4.gz: not in the compressed format that it should have"])
    #expect(try t.shell("cmp x/5 <(seq 5); tar -df x/2.tar").status == 0)
  }

  @Test(
    "each format has its levels, and a higher level does not give a larger file",
    arguments: StockFormat.allCases)
  func levels(format: StockFormat) throws {
    let low = format == .xz ? 1 : 1
    let high = format == .xz ? 9 : 12
    let run = try t.shell(
      """
      for l in \(low) \(high); do
        $BP compress -q --force --format \(format) -l $l w/a && \(format.tool) -t w/a.\(format) && stat -c %s w/a.\(format)
      done
      """)
    let sizes = run.text.split(separator: "\n").compactMap { Int($0) }
    #expect(sizes.count == 2 && sizes[0] >= sizes[1], "\(run.text) \(run.errorText)")
  }
}
