import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite struct ConfiguredMountsTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.file(
      "fstab",
      """
      # /dev/sdz1 /mnt/comment ext4 noauto 0 0
      UUID=1 / ext4 defaults 0 1
      UUID=2 none swap sw 0 0
      /dev/sdb1 /mnt/disk ext4 noauto 0 0
      /dev/sdc1\t/mnt/disk/inner/  xfs nofail
      /dev/sdd1 /mnt/with\\040blank\\134 ext4 defaults 0 2
      tmpfs /mnt/memory tmpfs defaults 0 0
      host:/export /mnt/there nfs defaults 0 0
      broken
      """)
    try t.file(
      "mountinfo",
      """
      22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
      30 22 0:40 / /mnt/there rw - nfs host:/export rw
      31 22 0:41 / /mnt/unit\\040there rw - ext4 /dev/sdx rw
      """)
    try t.file(
      "etc/mnt-unit.mount", "[Unit]\nDescription=x\n[Mount]\nWhat=/dev/sde1\nWhere=/mnt/unit\nType=ext4\n")
    try t.file("etc/there.mount", "[Mount]\nWhere=/mnt/unit there\n")
    try t.symbolicLink("etc/masked.mount", to: "/dev/null")
    try t.file("lib/masked.mount", "[Mount]\nWhere=/mnt/masked\n")
    try t.file("lib/tmp.mount", "[Mount]\nWhere=/mnt/tmp\nType=tmpfs\n")
    try t.file("lib/each@.mount", "[Mount]\nWhere=/mnt/%i\n")
    try t.file("lib/other.service", "[Mount]\nWhere=/mnt/service\n")
  }

  private func missing(_ directory: PathBytes) -> ConfiguredMounts.Mount? {
    ConfiguredMounts(
      fstab: t.path("fstab"), mounted: t.path("mountinfo"),
      units: [t.path("etc"), t.path("lib"), t.path("none")]
    ).missing(above: directory)
  }

  @Test(
    "a directory at or below a mount point that is not mounted is found, and names the innermost one",
    arguments: [
      ("/mnt/disk", "/mnt/disk", "fstab"), ("/mnt/disk/a/b", "/mnt/disk", "fstab"),
      ("/mnt/disk/inner/b", "/mnt/disk/inner", "fstab"),
      ("/mnt/with blank\\/a", "/mnt/with blank\\", "fstab"),
      ("/mnt/unit/a", "/mnt/unit", "etc/mnt-unit.mount"),
    ] as [(PathBytes, PathBytes, PathBytes)])
  func missing(_ directory: PathBytes, _ point: PathBytes, _ file: PathBytes) {
    #expect(missing(directory) == ConfiguredMounts.Mount(point: point, file: t.path(file)))
  }

  @Test(
    "other directories are accepted",
    arguments: [
      "/", "/mnt", "/mnt/diskette", "/mnt/comment/a", "/none/a", "/mnt/memory/a", "/mnt/there/a",
      "/mnt/unit there/a", "/mnt/masked/a", "/mnt/tmp/a", "/mnt/%i/a", "/mnt/service/a",
    ] as [PathBytes])
  func accepted(_ directory: PathBytes) {
    #expect(missing(directory) == nil)
  }

  @Test("links on the way are followed, and without a list of what is mounted nothing is refused")
  func links() throws {
    try t.folder("disk/bk")
    try t.file("fstab", "/dev/sdb1 \(t.path("disk")) ext4 noauto 0 0\n")
    try t.symbolicLink("link", to: t.path("disk"))
    for place: PathBytes in ["link", "link/bk", "link/new/er"] {
      #expect(missing(t.path(place))?.point == t.path("disk"))
    }
    try t.remove("mountinfo")
    #expect(missing(t.path("disk/bk")) == nil)
  }
}
