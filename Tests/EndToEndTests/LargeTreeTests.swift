import BatchCore
import Testing

/// Trees of many entries: bounded memory, few descriptors, rows from the start on.
@Suite(.serialized) struct LargeTreeTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture(below: Host.memoryFolder) }

  @Test("44,000 files at -j 64 with 24 descriptors have all their digests right")
  func fewDescriptors() throws {
    let run = try t.shell(
      """
      python3 -c "
      import os
      for d in range(44):
          os.makedirs('t/d%d' % d)
          for f in range(1000): open('t/d%d/f%d' % (d, f), 'w').write('%d' % (d * f))"
      ulimit -n 24; $BP hash -q -j 64 t >m; echo $?; wc -l <m; sha256sum -c --quiet m; echo $?; $BP check -q -j 64 m; echo $?
      """, seconds: 120)
    #expect(run.text == "0\n44000\n0\n0\n", "\(run.errorText.prefix(500))")
  }

  /// The whole million with `BATCHPROC_LARGE_TESTS=1`.
  private static let count = Host.runsLargeTests ? 1_000_000 : 200_000

  @Test("a folder of a million files needs the memory of a small one, and rows come at once")
  func million() throws {
    let made = try t.shell("mkdir t; cd t; seq \(Self.count) | xargs touch", seconds: 300)
    try #require(made.status == 0)
    let run = try t.shell(
      "/usr/bin/time -f '%M' $BP hash -q -o m t; wc -l <m; $BP hash -q t | head -1 | cut -c65-", seconds: 300)
    #expect(run.text == "\(Self.count)\n  t/1\n")
    let kibibytes = Int(run.errorText.split(separator: "\n").last ?? "") ?? .max
    // What grows with the folder is the list of its names alone.
    let bound = 150_000 * Self.count / 1_000_000 + 60_000 * (1_000_000 - Self.count) / 1_000_000
    #expect(kibibytes < bound, "\(kibibytes) KiB")
  }

  @Test("many folders are walked in the memory of a few")
  func manyFolders() throws {
    let run = try t.shell(
      """
      python3 -c "
      import os
      for d in range(20000): os.makedirs('t/%d/%d' % (d % 150, d)); open('t/%d/%d/f' % (d % 150, d), 'w')"
      /usr/bin/time -f '%M' $BP hash -q -j 4 t | wc -l
      """, seconds: 120)
    #expect(run.text == "20000\n")
    let kibibytes = Int(run.errorText.split(separator: "\n").last ?? "") ?? .max
    #expect(kibibytes < 80_000, "\(kibibytes) KiB")
  }
}
