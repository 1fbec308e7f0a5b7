import BatchCore
import BatchEngine
import TestSupport
import Testing

/// No run replaces or removes the only copy of a content.
@Suite(.timeLimit(.minutes(3))) struct CompressMarkTests {
  private let t: TreeFixture
  private static let mark = "getfattr --only-values -n user.batchproc.source"

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir w; seq 5000 >w/a")
  }

  @Test(
    "the output of a removed source stays when the source is written anew, whatever the next run does",
    arguments: [
      "", "--remove-source", "--remove-source --replace", "--remove-source --no-fsync -j 7", "--dry-run",
    ])
  func secondNight(options: String) throws {
    let run = try t.shell(
      """
      $BP compress -q --remove-source w; cp w/a.gz first; seq 6000 >new; mv new w/a; $BP compress \(options) w; echo $?
      cmp first w/a.gz; cmp w/a <(seq 6000); ls w; \(Self.mark) w/a.gz; $BP compress -q --force w/a; gzip -dc w/a.gz | cmp - w/a
      """)
    #expect(run.text == "3\na\na.gz\nremoved", "\(run.text)\(run.errorText)")
    let named = run.messages.filter { $0.hasPrefix("batchproc: w/a.gz: ") }
    #expect(named.count == 1 && named.allSatisfy { $0.contains("kept") }, "\(run.messages)")
  }

  @Test(
    "an older output of a stock tool or of an unmarked copy is kept without --replace",
    arguments: ["gzip -k w/a", "$BP compress -q w; cp w/a.gz c; mv c w/a.gz; touch -r w/a w/a.gz"],
    [1, 2, 7, 32])
  func unknown(make: String, concurrency: Int) throws {
    let run = try t.shell(
      """
      \(make); cp w/a.gz first; seq 6000 >w/a; for i in $(seq 20); do seq $i 3000 >w/b$i; done; seq 340000 >w/large; gzip -1k w/large
      touch w/large; $BP compress -j \(concurrency) w; echo $?; cmp first w/a.gz; ls w/b*.gz | wc -l
      $BP compress -q --replace w; echo $?; for f in a large; do gzip -dc w/$f.gz | cmp - w/$f; done; \(Self.mark) w/a.gz w/large.gz
      """)
    #expect(run.text == "3\n20\n0\nkeptkept", "\(run.text)\(run.errorText)")
    let kept =
      "is not known to be made from a source that was kept, and is kept itself (--replace replaces it)"
    #expect(
      run.messages.filter { $0.hasPrefix("batchproc: ") }
        == ["batchproc: w/a.gz: \(kept)", "batchproc: w/large.gz: \(kept)"], "\(run.messages)")
    #expect(run.errorText.contains("2 failed"), "\(run.errorText)")
  }

  @Test(
    "an output whose source was kept is replaced and counted, also after the source was renamed into place")
  func kept() throws {
    let run = try t.shell(
      """
      $BP compress -q w; seq 6000 >new; mv new w/a; $BP compress w; echo $?; gzip -dc w/a.gz | cmp - w/a; \(Self.mark) w/a.gz
      seq 7000 >w/a; $BP compress --no-replace w; echo $?
      """)
    #expect(run.text == "0\nkept3\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("1 replaced"), "\(run.errorText)")
  }

  @Test(
    "each shard of a plan keeps such outputs too", arguments: [1, 4, 7])
  func shards(count: Int) throws {
    let run = try t.shell(
      """
      for i in $(seq 30); do seq $i 3000 >w/b$i; done; $BP compress -q --remove-source w; cp -r w first
      for i in $(seq 30); do seq $i 4000 >w/b$i; done; seq 3000 >w/c
      $BP plan -q --no-fsync --shards \(count) --out p -- compress --stride 1 --remove-source w
      for i in $(seq 0 $((\(count) - 1))); do $BP compress -q --no-fsync --plan p --shard $i; done 2>errors
      grep -c 'exists already and is kept' errors; for f in first/*; do cmp $f w/${f#first/}; done; ls w | wc -l
      """)
    // The source a is not there any more; c is compressed.
    #expect(run.text == "30\n62\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "on a file system without attributes an older output is replaced and counted, but never when sources are removed",
    .enabled(if: Host.canMount, "needs mounts"))
  func withoutAttributes() throws {
    let run = try t.shell(
      """
      mkdir m; unshare -m sh -c 'mount -t ramfs none m; seq 5000 >m/a; $BP compress -q m; echo $?; seq 6000 >m/a; $BP compress m; echo $?
        gzip -dc m/a.gz | cmp - m/a; seq 7000 >m/a; $BP compress --remove-source m; echo $?; ls m; touch -r m/a.gz m/a
        $BP compress -q --remove-source m; echo $?; seq 6000 >m/a; touch -r m/a.gz m/a; $BP compress --remove-source m; echo $?; ls m'
      """)
    #expect(run.text == "0\n0\n3\na\na.gz\n3\n0\na.gz\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("1 replaced"), "\(run.errorText)")
  }

  @Test(
    "decompress keeps a file that was written anew, and carries no mark over",
    arguments: ["", "--remove-source"])
  func decompress(options: String) throws {
    let run = try t.shell(
      """
      $BP compress -q --remove-source w; $BP decompress -q w; getfattr -d w/a; echo mine >w/a; $BP decompress \(options) w; echo $?
      cat w/a; gzip -dc w/a.gz | cmp - <(seq 5000)
      """)
    #expect(run.text == "3\nmine\n", "\(run.text)\(run.errorText)")
  }

  @Test("an archive keeps the mark of an output")
  func archived() throws {
    let run = try t.shell(
      "$BP compress -q w; $BP archive -q -o x.tar.zst w; $BP extract -q -C o x.tar.zst; \(Self.mark) o/w/a.gz"
    )
    #expect(run.text == "kept", "\(run.text)\(run.errorText)")
  }
}
