import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Compressing where the disk is almost full, to free space.
@Suite(.enabled(if: Host.canMount, "needs mounts"), .timeLimit(.minutes(3))) struct CompressSpaceTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// Runs a command in a file system of 2 MB, of which a number of KB are free.
  private func run(free: Int, make: String, _ command: String, image: Bool = false) throws -> Outcome {
    let mount =
      image
      ? "truncate -s 4M i; mkfs.ext4 -qFm 0 -O ^has_journal i; mount -o loop i m"
      : "mount -t tmpfs -o size=2m none m"
    return try t.shell(
      """
      mkdir m; export TMPDIR=$PWD; cat >run <<'END'
      \(mount); cd m; \(make)
      dd if=/dev/zero of=fill bs=1k count=9999 2>/dev/null; truncate -s -\(free)k fill; sync
      \(command)
      END
      unshare -m bash run
      """)
  }

  private static let logs = "for i in 1 2 3 4 5 6; do head -c 220000 /dev/urandom | base64 >l$i.log; done"

  @Test(
    "all logs are compressed in one run, one after the other where there is no space for more",
    arguments: ["-j 1", "-j 7", "-j 7 --stride 1", "-j 32 --no-fsync"], [false, true])
  func logs(options: String, image: Bool) throws {
    guard !image || Host.canMountImages else { return }
    let run = try run(
      free: 270, make: Self.logs,
      """
      sha256sum *.log >../sums; $BP compress \(options) --rm --exclude fill --exclude lost+found .; echo $?; ls *.log*
      gzip -d *.gz; sha256sum --quiet -c ../sums
      """, image: image)
    #expect(run.text == "0\n" + (1...6).map { "l\($0).log.gz\n" }.joined(), "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("compressed 6 files"), "\(run.errorText)")
  }

  @Test(
    "the largest file, which does not fit at first, is compressed at the end", arguments: ["-j 1", "-j 7"])
  func large(options: String) throws {
    let run = try run(
      free: 100,
      make:
        "for i in 1 2 3 4 5 6; do seq $i 15000 >z$i; done; for i in $(seq 30000); do echo $RANDOM $RANDOM; done >a",
      "$BP compress \(options) --rm --exclude fill .; echo $?; ls")
    #expect(
      run.text == "0\na.gz\nfill\n" + (1...6).map { "z\($0).gz\n" }.joined(),
      "\(run.text)\(run.errorText)")
  }

  @Test("what never fits is named once, and the run ends with 5", arguments: ["--rm", ""], ["-j 1", "-j 7"])
  func neverFits(removal: String, options: String) throws {
    let run = try run(
      free: 20, make: Self.logs,
      "timeout 60 $BP compress \(options) \(removal) --exclude fill .; echo $?; ls | wc -l")
    #expect(run.text == "5\n7\n", "\(run.text)\(run.errorText)")
    #expect(
      run.messages.filter { $0.contains("No space left on device") }.count == 6, "\(run.messages)")
  }

  @Test(
    "a source whose output is up to date is removed on a full disk", arguments: [false, true])
  func upToDate(image: Bool) throws {
    guard !image || Host.canMountImages else { return }
    let run = try run(
      free: 0, make: "seq 90000 >a; $BP compress -q a",
      "dd if=/dev/zero of=more bs=1k count=99 2>/dev/null; $BP compress --rm a; echo $?; ls a*; getfattr --only-values -n user.batchproc.source a.gz",
      image: image)
    #expect(run.text == "0\na.gz\nremoved", "\(run.text)\(run.errorText)")
  }

  @Test("decompressed files that do not fit at first are written when other sources are removed")
  func decompress() throws {
    let run = try run(
      free: 420, make: "\(Self.logs); gzip -1 *.log; rm l5.log.gz l6.log.gz",
      "$BP decompress -j 1 --rm --exclude fill .; echo $?; ls *.log* | wc -l; gzip -t *.gz")
    // Each file needs more space than its source: some fit, and no content is lost.
    #expect(run.text.hasSuffix("\n4\n"), "\(run.text)\(run.errorText)")
  }
}
