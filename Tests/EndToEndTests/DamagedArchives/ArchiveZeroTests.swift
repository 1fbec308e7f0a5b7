import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Zeros instead of an archive or its beginning, such as a lost first block or a file that was never written.
@Suite("Zeros read as an archive", .timeLimit(.minutes(5))) struct ArchiveZeroTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Makes an archive `x.FORMAT` whose first bytes are zeros.
  private func write(
    _ format: String, zeros: Int, stock: Bool, size: String, options: String = ""
  ) throws {
    let make =
      stock
      ? "tar caf x.\(format) t"
      : "$BP archive -q \(options) -o x.\(format) t"
    let made = try t.shell(
      """
      mkdir t; for i in $(seq 9); do head -c \(size) /dev/urandom >t/f$i; done; echo text >t/text; \(make)
      head -c \(zeros) /dev/zero | dd of=x.\(format) conv=notrunc status=none
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// Exit codes of list, list without the index, verify, extract, extract to standard output, and extract
  /// from a stream.
  private func codes(_ archive: String, jobs: Int = 2) throws -> String {
    try t.shell(
      """
      mkdir -p o; c() { "$@" >/dev/null 2>>errors; printf '%s ' $?; }; a=\(archive)
      c $BP list -q -j \(jobs) $a; c $BP list -q --no-index $a; c $BP verify -q -j \(jobs) $a
      c $BP extract -q -j \(jobs) -C o $a; c $BP extract -q -O $a; c $BP extract -q -C o - <$a; rm -rf o
      """
    ).text
  }

  @Test(
    "before content are damage, with and without an index, at every concurrency",
    arguments: ["cpio", "7z", "zip", "tar", "tar.gz", "tar.zst"], [512, 4096])
  func lostBlocks(format: String, zeros: Int) throws {
    let hasIndex = format.hasPrefix("tar")
    try write(format, zeros: zeros, stock: false, size: "20K")
    for jobs in zeros == 512 ? [1, 2, 7, 32] : [2] {
      #expect(try codes("x.\(format)", jobs: jobs) == "\(hasIndex ? 5 : 1) 1 4 5 5 5 ")
    }
    if hasIndex {
      try write(format, zeros: zeros, stock: true, size: "20K")
      #expect(try codes("x.\(format)") == "1 1 4 5 5 5 ")
    }
  }

  @Test(
    "instead of a header are damage if members follow them, and padding if not",
    arguments: ["tar", "tar.gz", "tar.zst", "cpio"])
  func lostHeader(format: String) throws {
    let make = format == "cpio" ? "cpio -oH newc --quiet" : "tar -cf - --no-recursion -T -"
    let pack = ["tar.gz": "gzip", "tar.zst": "zstd -q"][format] ?? "cat"
    try t.shell(
      """
      mkdir t; echo 1 >t/a; echo 2 >t/b; echo 3 >t/c
      (ls -d t/a t/b | \(make); ls -d t/c | \(make)) | \(pack) >x.\(format)
      (ls -d t/a t/b t/c | \(make); head -c 20480 /dev/zero) | \(pack) >padded.\(format)
      """)
    #expect(try codes("x.\(format)") == "5 5 4 5 5 5 ")
    // The last command finds existing files there.
    #expect(try codes("padded.\(format)").hasPrefix("0 0 0 0 0 "))
    let run = try t.shell("mkdir o; $BP extract -q -C o x.\(format); ls o/t")
    #expect(run.text == "a\nb\n")
    #expect(
      run.errorText
        == "batchproc: x.\(format): damaged: there are bytes after the end of the archive, which are not read\n"
    )
  }

  @Test(
    "in the first block of an archive with an index do not affect its list and the other members",
    arguments: ["tar", "tar.gz", "tar.zst", "tar.xz", "tar.lz4", "tar.bz2"])
  func indexed(format: String) throws {
    try write(format, zeros: 512, stock: false, size: "90K", options: "--stride 5")
    let run = try t.shell(
      """
      for j in 1 2 7 32; do mkdir o; $BP list -q -j $j x.\(format) | wc -l
      $BP extract -q --keep-going -j $j -C o x.\(format) 2>e$j; echo $?; ls o/t | wc -l; rm -rf o; done
      cmp e1 e7 && cmp e1 e32; head -n 1 e1
      """)
    let kept = format == "tar" ? 10 : 6
    let lines = run.text.split(separator: "\n")
    #expect(lines.count == 13 && lines.last?.contains("damaged") == true, "\(run.text)\(run.errorText)")
    #expect(
      Set(lines.dropLast().enumerated().map { "\($0.offset % 3) \($0.element)" }) == [
        "0 11", "1 5", "2 \(kept)",
      ])
  }

  @Test(
    "alone are damage under a name with another format's suffix",
    arguments: ["z.tar.gz", "z.tgz", "z.tar.zst", "z.tar.xz", "z.gz", "z.tar.Z", "z.zip", "z.7z", "z.cpio"],
    [1048, 3_000_000])
  func claimed(name: String, size: Int) throws {
    try t.shell("truncate -s \(size) \(name)")
    #expect(try codes(name).dropLast(2) == "1 1 4 5 5 ")
    #expect(try t.shell("sort -u errors").text.contains("its name says that it is"))
  }

  @Test(
    "alone are an archive without members under other names, as for stock tar, with a warning also with -q")
  func empty() throws {
    try t.shell("tar cf e.tar -T /dev/null; tar czf e.tar.gz -T /dev/null; truncate -s 10240 z.bin")
    for name in ["e.tar", "e.tar.gz", "z.bin"] {
      #expect(try codes(name) == "0 0 0 0 0 0 ")
      let errors = try t.shell("sort errors; rm errors").text
      #expect(
        errors.split(separator: "\n").allSatisfy {
          $0.hasSuffix("warning: \(name): it has no members") || $0.hasSuffix("warning: -: it has no members")
        },
        "\(errors)")
    }
    // There is no warning when an index confirms that there are no members.
    let ours = try t.shell(
      ": >none; $BP archive -q --files-from none -o o.tar.zst; $BP verify -q o.tar.zst; echo $?; $BP list -q o.tar.zst"
    )
    #expect(ours.text == "0\n" && ours.errorText.isEmpty, "\(ours.text)\(ours.errorText)")
  }

  @Test("are not reported for an archive with another format's suffix, which is read with a warning")
  func renamed() throws {
    let run = try t.shell(
      """
      mkdir t o; echo one >t/one; tar cf x.tar.gz t; $BP archive -q -o y.zip t; cp y.zip y.tar
      for f in x.tar.gz y.tar; do
        $BP list -q $f; echo $?; $BP verify -q $f; echo $?; $BP extract -q --force -C o $f; echo $?; done 2>errors
      cat o/t/one; grep -c 'warning: .*its name says that it is' errors
      """)
    #expect(
      run.text == String(repeating: "t/\nt/one\n0\n0\n0\n", count: 2) + "one\n6\n",
      "\(run.text)\(run.errorText)")
  }
}
