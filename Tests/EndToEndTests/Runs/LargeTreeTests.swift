import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Trees with many entries: limited memory, few descriptors, and rows from the beginning.
@Suite(.serialized) struct LargeTreeTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private static let fileCount = Campaign.isFull ? 44_000 : 11_000

  @Test("44 large folders at -j 64 with 24 descriptors have the right digests")
  func fewDescriptors() throws {
    let run = try t.shell(
      """
      python3 -c "
      import os
      for d in range(44):
          os.makedirs('t/d%d' % d)
          for f in range(\(Self.fileCount / 44)): open('t/d%d/f%d' % (d, f), 'w').write('%d' % (d * f))"
      ulimit -n 24; $BP hash -q -j 64 t >m; echo $?; wc -l <m; sha256sum -c --quiet m; echo $?; $BP check -q -j 64 m; echo $?
      """, seconds: 120)
    #expect(run.text == "0\n\(Self.fileCount)\n0\n0\n", "\(run.errorText.prefix(500))")
  }

  /// A million files with `BATCHPROC_LARGE_TESTS=1`.
  private static let count = Host.runsLargeTests ? 1_000_000 : Campaign.isFull ? 200_000 : 60_000

  @Test("a folder of many files needs little memory, and its rows are printed early")
  func million() throws {
    let made = try t.shell("mkdir t; cd t; seq \(Self.count) | xargs touch", seconds: 300)
    try #require(made.status == 0)
    let run = try t.shell(
      "/usr/bin/time -f '%M' $BP hash -q -o m t; wc -l <m; $BP hash -q t | head -1 | cut -c65-", seconds: 300)
    #expect(run.text == "\(Self.count)\n  t/1\n")
    let kibibytes = Int(run.errorText.split(separator: "\n").last ?? "") ?? .max
    // Only the list of names grows with the folder.
    let bound = 47_000 + Self.count * 105 / 1000
    #expect(kibibytes < bound, "\(kibibytes) KiB")
  }

  private static let folderCount = Campaign.isFull ? 20_000 : 10_000

  @Test("many folders need the memory of a few")
  func manyFolders() throws {
    let run = try t.shell(
      """
      python3 -c "
      import os
      for d in range(\(Self.folderCount)): os.makedirs('t/%d/%d' % (d % 150, d)); open('t/%d/%d/f' % (d % 150, d), 'w')"
      /usr/bin/time -f '%M' $BP hash -q -j 4 t | wc -l
      """, seconds: 120)
    #expect(run.text == "\(Self.folderCount)\n")
    let kibibytes = Int(run.errorText.split(separator: "\n").last ?? "") ?? .max
    #expect(kibibytes < 35_000 + Self.folderCount * 3 / 2, "\(kibibytes) KiB")
  }

  /// A million members with `BATCHPROC_LARGE_TESTS=1`, which must need less than 250 MB.
  private static let memberCount = Host.runsLargeTests ? 1_000_000 : Campaign.isFull ? 100_000 : 20_000

  @Test("an archive of many members is made, listed, verified and extracted in little memory")
  func archive() throws {
    let folders = Self.memberCount / 1000
    let made = try t.shell(
      """
      python3 -c "
      import os
      for d in range(\(folders)):
          os.makedirs('t/d%04d' % d)
          for f in range(1000):
              file = os.open('t/d%04d/member-number-%04d' % (d, f), os.O_CREAT | os.O_WRONLY, 0o644)
              if f % 10 == 0: os.write(file, b'%d' % (d * f))
              os.close(file)"
      mkdir o
      """, seconds: 300)
    try #require(made.status == 0)
    // The member index, the list of used names and the folders that wait for their metadata grow.
    let bound = 47_000 + Self.memberCount * 150 / 1000
    for command in [
      "archive -o a.tar.zst t", "list a.tar.zst", "list -l a.tar.zst", "verify a.tar.zst",
      "extract --no-fsync -C o a.tar.zst",
    ] {
      let run = try t.shell("/usr/bin/time -f '%M' $BP \(command) | wc -l", seconds: 600)
      let rows = run.errorText.split(separator: "\n")
      let kibibytes = Int(rows.last ?? "") ?? .max
      #expect(kibibytes < bound, "\(command): \(kibibytes) KiB")
      let isListed = command.hasPrefix("list")
      #expect(run.text == (isListed ? "\(Self.memberCount + folders + 1)\n" : "0\n"), "\(command)")
    }
    #expect(try t.shell("find o | wc -l").text == "\(Self.memberCount + folders + 2)\n")
  }
}
