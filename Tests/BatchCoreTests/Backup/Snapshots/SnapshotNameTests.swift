import BatchEngine
import Testing

@testable import BatchCore

@Suite("The names of the files of a set")
struct SnapshotNameTests {
  @Test(
    "are recognized in the listing of a remote",
    arguments: [
      "backup-20261120T020000Z.manifest", "a-b c-20261120T020000Z.tar.zst", "ä-20261120T020000Z.tar.zst.age",
      "x-20261120T020000Z.manifest.age", "x-20261120T020000Z.manifest.zst",
      "x-20261120T020000Z.manifest.zst.age", "x-20261120T020000Z.companion", ".x.id", ".a-b c.copy",
    ] as [PathBytes])
  func accepted(name: PathBytes) {
    #expect(SnapshotName.isOfSet(name))
    #expect(RcloneRemote.files(Array("7;".utf8) + name.bytes + [10]) == [name: 7])
  }

  @Test(
    "are the only ones that are used of a listing",
    arguments: [
      "../x-20261120T020000Z.manifest", "/x-20261120T020000Z.manifest", "a/x-20261120T020000Z.manifest",
      "x-20261120T020000Z.manifest/", "x-20261120T020000Z.manifest/..", "..-20261120T020000Z.manifest",
      ".x-20261120T020000Z.manifest", "-x-20261120T020000Z.manifest", "-20261120T020000Z.manifest",
      "x.manifest",
      "x-20261320T020000Z.manifest", "x\0-20261120T020000Z.manifest", "x-20261120T020000Z.companion.ages", "",
      "x-20261120T020000Z.companion.zst", "x-20261120T020000Z.manifest.zst.zst",
      "x-20261120T020000Z.manifest.age.zst",
      ".", "..", "..id", "../.id", ".a/b.id", ".-x.copy", ".x.lock", ".x.drill", "rclone",
      PathBytes([0xff] + Array("-20261120T020000Z.manifest".utf8)),
      PathBytes([UInt8](repeating: 120, count: 129) + Array("-20261120T020000Z.manifest".utf8)),
    ] as [PathBytes])
  func refused(name: PathBytes) {
    #expect(!SnapshotName.isOfSet(name))
    #expect(RcloneRemote.files(Array("7;".utf8) + name.bytes + [10]).isEmpty)
  }
}
