import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Stock tools check and extract archives.
@Suite(.timeLimit(.minutes(3))) struct ArchiveFormatTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Small files, and files that span several frames in each format.
  private func writeMixedTree() throws {
    try t.writeTexts(files: 12)
    try #require(
      try t.shell("\(Self.huge(8)) >src/c/huge; head -c 2200000 /dev/urandom >src/c/noise").status == 0)
  }

  /// Prints lines before and after zeros, which are compressed faster than lines.
  private static func huge(_ mebibytes: Int) -> String {
    "{ seq 20000; head -c \(mebibytes)M /dev/zero; seq 20000; }"
  }

  @Test(
    "the stock decompressor and tar accept an archive without a message",
    arguments: [
      ("tar.zst", "zstd -tq a.tar.zst && zstd -lq a.tar.zst >/dev/null && tar --zstd -tf a.tar.zst"),
      ("tar.gz", "gzip -t a.tar.gz && tar -tzf a.tar.gz"),
      ("tar.xz", "xz -t a.tar.xz && tar -tJf a.tar.xz"),
      ("tar.lz4", "lz4 -tq a.tar.lz4 && lz4 -dcq a.tar.lz4 >p && tar -tf p"),
      ("tar", "tar -tf a.tar"),
    ])
  func accepted(format: String, check: String) throws {
    try writeMixedTree()
    let run = try t.shell(
      """
      $BP archive -q -l \(format == "tar.xz" ? 0 : 1) -o a.\(format) src || $BP archive -q -o a.\(format) src; set -e
      \(check) | sed 's,/$,,' | LC_ALL=C sort >names; find src | LC_ALL=C sort | cmp - names
      bsdtar -tf a.\(format) | wc -l
      """, seconds: 120)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.text == "33\n", "\(run.text)\(run.errorText)")
    let complaints = run.errorText.split(separator: "\n").filter {
      !$0.contains("no levels") && !$0.contains("USAGE")
    }
    #expect(format == "tar" || complaints.isEmpty, "\(run.errorText)")
  }

  @Test("all compressed forms of tar contain the same bytes", arguments: StockFormat.allCases)
  func sameBytes(format: StockFormat) throws {
    try writeMixedTree()
    let run = try t.shell(
      """
      $BP archive -q -o a.tar src && $BP archive -q -l \(format.fastLevel) -o a.tar.\(format) src && set -o pipefail
      \(format.tool) -dc a.tar.\(format) >plain; size=$(tar -tvRf a.tar | sed -n 's/^block \\([0-9]*\\): \\*\\*.*/\\1/p')
      head -c $((size * 512 + 1024)) a.tar >one; head -c $((size * 512 + 1024)) plain | cmp - one
      tar -df plain
      """, seconds: 120)
    #expect(run.status == 0 && run.errorText == "", "\(run.errorText)")
  }

  @Test(
    "an archive is the same at every concurrency",
    arguments: ["tar", "tar.zst", "tar.gz", "tar.xz", "tar.lz4", "zip", "cpio", "7z"])
  func determinism(format: String) throws {
    try t.writeTexts(files: 12)
    let level = ["tar", "cpio"].contains(format) ? "" : "-l 1"
    let isSlow = ["zip", "7z"].contains(format)
    let run = try t.shell(
      """
      seq 60000 >src/c/big; \(isSlow ? "head -c 1200K /dev/urandom" : Self.huge(format == "tar.zst" ? 16 : 8)) >src/c/huge
      for j in 1 2 7 32; do $BP archive -q \(level) --stride 5 -j $j -o $j.x --format \(format) src; done
      sha256sum <1.x >1.s; for j in 2 7 32; do sha256sum <$j.x | cmp - 1.s; done; ls *.x | wc -l
      """, seconds: 120)
    #expect(run.text == "4\n" && run.errorText == "", "\(run.errorText)")
  }

  @Test("zip, cpio and 7z are extracted to the original tree", arguments: ["zip", "cpio", "7z"])
  func otherContainers(format: String) throws {
    try writeMixedTree()
    let run = try t.shell(
      """
      \(Steps.functions)
      ln -s a/f1 src/link
      ln src/small src/twin
      mkdir out
      ends archive $BP archive -q \(format == "cpio" ? "" : "-l 1") -o a.\(format) src
      ends "extract by bsdtar" bsdtar -xf a.\(format) -C out
      ends "extracted files" diff -r --no-dereference src out/src
      stat -c %h out/src/twin | says "names of a linked file"
      """, seconds: 120)
    #expect(run.errorText == "", "\(run.errorText)")
    run.expectSteps([
      "archive": "0", "extract by bsdtar": "0", "extracted files": "0",
      "names of a linked file": format == "cpio" ? "2" : "1",
    ])
  }

  @Test(
    "a time that cpio and zip cannot store becomes the nearest one, with a warning",
    arguments: ["cpio", "zip"])
  func times(format: String) throws {
    let run = try t.shell(
      """
      mkdir t out; touch -d '2300-01-01 UTC' t/late; touch -d '1960-01-01 UTC' t/early; touch -d '2050-01-01 UTC' t/fine
      $BP archive -q --verify -o x.\(format) t; echo $?; $BP extract -q -C out x.\(format); stat -c %Y out/t/early out/t/fine out/t/late
      """)
    #expect(run.text == "0\n0\n2524608000\n4294967295\n", "\(run.text)\(run.errorText)")
    #expect(run.messages.count == 2, "\(run.errorText)")
    for name in ["t/late", "t/early"] {
      #expect(run.errorText.contains("\(name): its time is replaced: \(format) has"), "\(run.errorText)")
    }
  }

  @Test("unzip accepts a zip")
  func unzip() throws {
    try writeMixedTree()
    let run = try t.shell(
      "command -v unzip >/dev/null || exit 0; $BP archive -q -o a.zip src && unzip -tq a.zip")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
  }

  @Test("standard output gets the same bytes as a file")
  func standardOutput() throws {
    try t.writeTree()
    let run = try t.shell(
      "$BP archive -q -o a.tgz t; $BP archive -q -o - --format tar.gz t | cmp - a.tgz; echo ${PIPESTATUS[0]}")
    #expect(run.text == "0\n" && run.errorText == "", "\(run.errorText)")
    let full = try t.shell("$BP archive -o - --format tar t >/dev/full")
    #expect(full.status == 5 && full.errorText.contains("No space left on device"))
  }
}
