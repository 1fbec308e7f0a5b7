import BatchCore
import BatchEngine
import TestSupport
import Testing

/// All outputs of stock tools are read, with any number and form of members, frames, streams and blocks.
@Suite(.timeLimit(.minutes(3))) struct StockInputTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Commands that print a compressed form of `plain`, which is `one` followed by `two`.
  private static let forms: [(StockFormat, String)] = [
    (.gz, "gzip -c plain"),
    (.gz, "gzip -1c one; gzip -9c two"),
    (.gz, "gzip -c one; : | gzip; gzip -nc <two; : | gzip"),
    (.gz, "gzip -c one two; head -c 1536 /dev/zero"),
    (.gz, "libdeflate-gzip -12 -c plain"),
    (.gz, "openssl zlib -in plain 2>/dev/null || gzip -c plain"),
    (.zst, "zstd -qc plain"),
    (.zst, "zstd -qc one; zstd -q19c two"),
    (.zst, "for f in one two; do split -b 70000 --filter 'zstd -qc' $f; done"),
    (.zst, "zstd -qc --no-check <plain"),
    (.zst, "zstd -qc --no-content-size plain"),
    (.zst, "zstd -qc -T2 -B512KiB --long=27 plain"),
    (.zst, "zstd -qc --rsyncable -T2 plain"),
    (
      .zst,
      "printf 'P*M\\030\\005\\0\\0\\0hello'; zstd -qc one; printf '_*M\\030\\0\\0\\0\\0'; zstd -qc two; printf 'R*M\\030\\001\\0\\0\\0x'"
    ),
    (.zst, ": | zstd -qc; zstd -qc plain; : | zstd -qc"),
    (.xz, "xz -c plain"),
    (.xz, "xz -T2 --block-size=64KiB -c plain"),
    (.xz, "xz -0c one; xz -T2 --block-size=1MiB -0c two"),
    (.xz, "xz -0c one; head -c 8 /dev/zero; xz -0c two; head -c 4 /dev/zero"),
    (.xz, "xz --check=none -0c one; xz --check=sha256 -0c two"),
    (.xz, "xz --check=crc32 --delta=dist=4 --lzma2=preset=1 -c plain"),
    (.xz, "xz --x86 --lzma2=preset=1 -c plain"),
    (.xz, ": | xz -c; xz -0c plain"),
    (.lz4, "lz4 -qc plain"),
    (.lz4, "lz4 -qc one; lz4 -q12c two"),
    (.lz4, "lz4 -qc -BD plain"),
    (.lz4, "lz4 -qc -B4 -BD one; lz4 -qc -B7 -BX two"),
    (.lz4, "lz4 -qc -B4 -BI -BX --content-size plain"),
    (.lz4, "lz4 -qc --no-frame-crc <plain"),
    (.lz4, "lz4 -qc one; printf 'Q*M\\030\\003\\0\\0\\0abc'; lz4 -qc two"),
    (.lz4, "lz4 -qc one; : | lz4 -qc; lz4 -qc two"),
  ]

  private func expectRead(_ format: StockFormat, _ form: String) throws {
    let run = try t.shell(
      """
      cat one two >plain; mkdir w; { \(form); } >packed; cp packed w/x.\(format)
      \(format.tool) -dc <w/x.\(format) | cmp - plain && $BP test w && $BP decompress --remove-source w && cmp w/x plain
      echo $?; ls w
      """)
    #expect(run.text == "0\nx\n", "\(form): \(run.errorText)")
  }

  @Test("small files of several blocks are decoded", arguments: forms)
  func small(format: StockFormat, form: String) throws {
    try t.shell(
      "seq 60000 >one; { seq 1000 9000; head -c 100000 /dev/zero; head -c 100000 /dev/urandom; } >two")
    try expectRead(format, form)
    let stream = try t.shell("cat packed | $BP decompress -q - | cmp - plain")
    #expect(stream.status == 0, "\(form): \(stream.errorText)")
  }

  @Test(
    "large files are decoded, in parallel parts if their sizes are stored",
    arguments: [
      (.zst, "zstd -qc one; zstd -qc two"), (.zst, "zstd -qc -T2 -B512KiB plain"),
      (.zst, "printf 'P*M\\030\\005\\0\\0\\0hello'; zstd -qc one; zstd -qc --no-content-size two"),
      (.zst, "for f in one two; do split -b 700000 --filter 'zstd -qc' $f; done"),
      (.xz, "xz -T2 --block-size=1MiB -0c one; head -c 8 /dev/zero; xz --check=sha256 -0c two"),
    ] as [(StockFormat, String)])
  func large(format: StockFormat, form: String) throws {
    try t.shell(
      "{ head -c 5M /dev/urandom; seq 150000; head -c 2M /dev/zero; } >one; { seq 90000; head -c 3300K /dev/urandom; } >two"
    )
    try expectRead(format, form)
  }

  @Test("the many frames of a large file are scanned in the memory of a few")
  func largeFrames() throws {
    let run = try t.shell(
      """
      { head -c 9M /dev/urandom; head -c 300M /dev/zero; } | zstd -q1c --stream-size=$((309 << 20)) >x.zst; cp x.zst y
      cat y >>x.zst; /usr/bin/time -f %M $BP test -q x.zst
      """)
    #expect(run.status == 0, "\(run.errorText)")
    let kibibytes = Int(run.errorText.split(separator: "\n").last ?? "") ?? .max
    #expect(kibibytes < 150_000, "\(kibibytes) KiB")
  }

  @Test("an unsupported form is named, and no output is written")
  func refused() throws {
    try t.shell(
      "mkdir w; seq 9000 | lz4 -ql >w/legacy.lz4; seq 9000 | xz --format=lzma >w/alone.xz; seq 9000 | bzip2 >w/bz.gz"
    )
    let run = try t.batchproc("decompress", "w")
    #expect(run.status == 3)
    #expect(
      run.messages.sorted() == [
        "batchproc: w/alone.xz: not in the compressed format that it should have",
        "batchproc: w/legacy.lz4: unsupported: legacy lz4 data",
      ])
    // The content decides, not the suffix.
    #expect(t.names(in: "w") == ["alone.xz", "bz", "bz.gz", "legacy.lz4"])
    #expect(try t.batchproc("test", "w").status == 4)
  }

  @Test(
    "a file that needs too large a window is named, and the others are decoded",
    arguments: ["test", "decompress"])
  func demanding(command: PathBytes) throws {
    try t.shell(
      "mkdir w; seq 9000 | zstd -q >w/a.zst; head -c 9M /dev/urandom | zstd -q1 --long=30 >w/b.zst; seq 8 | zstd -q >w/c.zst"
    )
    let run = try t.batchproc(command, "w")
    #expect(run.status == 3, "\(run.errorText)")
    #expect(
      run.messages == [
        "batchproc: w/b.zst: the zstd frame needs a window of more than 2^27 bytes (see --max-memory)"
      ])
    #expect(run.errorText.contains("ed 2 files"), "\(run.errorText)")
    let stream = try t.shell("$BP decompress - <w/b.zst")
    #expect(stream.status == 3, "\(stream.ending)")
    for arguments in [["test", "w"], ["cat", "w/b.zst"], ["decompress", "--force", "w"]] as [[PathBytes]] {
      let roomy = try t.batchproc(arguments + ["-q", "-j", "1", "--max-memory", "2G"])
      #expect(roomy.status == 0 && roomy.messages.isEmpty, "\(arguments): \(roomy.errorText)")
    }
    #expect(try t.shell("cmp w/b <(zstd -dc --long=30 w/b.zst)").status == 0)
    #expect(
      stream.messages == [
        "batchproc: -: the zstd frame needs a window of more than 2^27 bytes (see --max-memory)"
      ])
  }

  @Test("zeros become holes, also at the end, and the size is right", arguments: StockFormat.allCases)
  func sparse(format: StockFormat) throws {
    let run = try t.shell(
      """
      mkdir w; { echo start; head -c 4M /dev/zero; echo middle; head -c 8M /dev/zero; } >w/x; head -c 5M /dev/zero >w/z
      sha256sum w/x w/z >sums; $BP compress -q -l \(format.fastLevel) --format \(format) --remove-source w; $BP decompress -q w
      sha256sum -c --quiet sums; stat -c %s w/x w/z; du -k w/x w/z | awk '{ print $1 < 300 }'
      """)
    #expect(run.text == "\(12 * 1_048_576 + 13)\n\(5 * 1_048_576)\n1\n1\n", "\(run.errorText)")
  }

  @Test(
    "a sparse source is compressed as the zeros that its holes contain", arguments: StockFormat.allCases)
  func sparseSource(format: StockFormat) throws {
    let run = try t.shell(
      """
      mkdir w; truncate -s 20M w/x; echo end >>w/x; $BP compress -q -l \(format.fastLevel) --format \(format) w
      \(format.tool) -dc <w/x.\(format) | cmp - w/x; echo $?
      """)
    #expect(run.text == "0\n", "\(run.errorText)")
  }
}
