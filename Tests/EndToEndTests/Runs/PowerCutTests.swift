import BatchCore
import BatchEngine
import TestSupport
import Testing

/// A power cut: data that was not synced is lost, and still each source or its complete output exists.
///
/// The test uses an ext4 image that does not commit by itself for five minutes. The run is killed at a call,
/// and at the same time the file system is shut down without writing its cached data.
@Suite(
  .enabled(if: Host.canMountImages && Host.canTrace && Host.hasPython, "needs images, strace, python3"),
  .timeLimit(.minutes(5)))
struct PowerCutTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTexts(files: 8)
  }

  /// Which data that was not synced has reached the disk, as flags of ext4's shutdown call.
  enum Cut: Int, CaseIterable {
    /// Names and removals, but no contents.
    case namesWithoutContents = 1
    case nothing = 2
  }

  /// Prints the lost and the damaged files in `m/w`.
  private static let look = """
    look() {
      cd src; find . -type f | while IFS= read -r f; do
        cmp -s "$f" "../m/w/$f" || gzip -dcq "../m/w/$f.gz" 2>&1 | cmp -s - "$f" || echo "lost $f"
      done; cd ..
      find m/w -name '*.gz' -size -1
      # One process tests all outputs; only if it refuses one, each is tested alone.
      find m/w -name '*.gz' -print0 | xargs -0r gzip -tq 2>/dev/null ||
        find m/w -name '*.gz' ! -exec gzip -tq {} \\; -printf 'damaged %p\\n'
    }
    """

  /// - Parameter prepare: a command that makes `m/w` from `src`.
  private func cut(
    _ command: String, prepare: String = "cp -r src m/w", at fault: String, _ cut: Cut
  ) throws -> Outcome {
    try t.file("look.sh", Self.look)
    return try t.shell(
      """
      truncate -s 64M image; mkfs.ext4 -qF image; mkdir m
      unshare -m bash -c '. ./look.sh; mount -o loop,commit=300 image m; \(prepare); sync -f m
        exec 9<m
        strace -qq -f -o /dev/null \(fault) $BP \(command) -q m/w 9<&-; s=$?
        python3 -c "import fcntl, struct; fcntl.ioctl(9, 0x8004587d, struct.pack(\\"I\\", \(cut.rawValue)))"; exec 9<&-
        umount m; mount -o loop image m; echo $s; look
        find m/w -type f ! -name "*.gz" | wc -l; $BP \(command) -q m/w; echo $?; look; find m -name ".batchproc-*"; umount m'
      """)
  }

  private func expectSafe(_ run: Outcome, status: String = "137") {
    // The output consists of three rows; each further row names a lost file or a remaining one.
    let rows = run.text.split(separator: "\n")
    #expect(
      rows.count == 3 && rows.first.map(String.init) == status && rows.last == "0",
      "\(run.text) \(run.errorText)")
  }

  @Test(
    "a cut at each step of compress with removal of sources loses nothing",
    arguments: [
      ("write", 9, .nothing), ("syncfs", 1, .namesWithoutContents), ("renameat2", 5, .namesWithoutContents),
      ("fsync", 2, .namesWithoutContents), ("fsync", 2, .nothing), ("unlinkat", 1, .namesWithoutContents),
      ("unlinkat", 9, .nothing), ("exit_group", 1, .nothing),
    ] as [(String, Int, Cut)])
  func compressing(call: String, turn: Int, cut: Cut) throws {
    let fault = "-e trace=\(call) -e inject=\(call):signal=KILL:when=\(turn)"
    expectSafe(try self.cut("compress --remove-source", at: fault, cut))
  }

  @Test("a cut at each step of decompress loses nothing", arguments: [("renameat2", 5), ("unlinkat", 9)])
  func decompressing(call: String, turn: Int) throws {
    expectSafe(
      try cut(
        "decompress --remove-source", prepare: "cp -r src m/w; gzip -r m/w",
        at: "-e trace=\(call) -e inject=\(call):signal=KILL:when=\(turn)", .namesWithoutContents))
  }

  @Test("a cut after a run that has ended loses nothing")
  func done() throws {
    expectSafe(try cut("compress --remove-source", at: "-e trace=none", .namesWithoutContents), status: "0")
  }

  @Test("a cut after a run with --no-fsync loses files, so this cut does remove data that was not synced")
  func withoutSync() throws {
    let run = try cut("compress --no-fsync --remove-source", at: "-e trace=none", .namesWithoutContents)
    #expect(run.text.contains("\nlost "), "\(run.text) \(run.errorText)")
  }

  @Test("a run that keeps its sources has synced its outputs when it ends")
  func outputsOnly() throws {
    let run = try t.shell(
      """
      truncate -s 64M image; mkfs.ext4 -qF image; mkdir m
      unshare -m bash -c 'mount -o loop,commit=300 image m; cp -r src m/w; sync -f m; $BP compress -q --compress-all m/w
        cp --sparse=always image crash; umount m; e2fsck -fy crash >/dev/null 2>&1; mount -o loop crash m
        cd m/w; find . -name "*.gz" | wc -l; find . -name "*.gz" -print0 | xargs -0 gzip -tq; echo $?; cd ../..; umount m'
      """)
    #expect(run.text == "19\n0\n", "\(run.errorText)")
  }

  @Test("an archive and extracted files are synced when the run ends")
  func archives() throws {
    let run = try t.shell(
      """
      truncate -s 64M image; mkfs.ext4 -qF image; mkdir m
      unshare -m bash -c 'mount -o loop,commit=300 image m; $BP archive -q -o m/a.tar.zst src; cp --sparse=always image one
        mkdir m/o; $BP extract -q -C m/o m/a.tar.zst; cp --sparse=always image two; umount m
        for i in one two; do e2fsck -fy $i >/dev/null 2>&1; mount -o loop $i m; $BP verify -q m/a.tar.zst; echo $?
          [ $i = one ] || diff -r src m/o/src; umount m; done'
      """)
    #expect(run.text == "0\n0\n" && run.errorText == "", "\(run.text)\(run.errorText)")
  }
}
