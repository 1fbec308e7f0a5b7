import Glibc
import TestSupport
import Testing

@testable import BatchEngine
@testable import BatchOutputs

@Suite struct AtomicFileMetadataTests {
  private let folder: TreeFixture

  init() throws {
    folder = try TreeFixture()
  }

  private func status(after metadata: AtomicFile.Metadata) throws -> stat {
    let target = folder.path("out")
    try AtomicFile(at: target, replacing: true).commit(metadata, syncing: false)
    var raw = stat()
    try #require(target.withCString { lstat($0, &raw) } == 0)
    return raw
  }

  @Test("permissions are the requested ones under any umask, without setuid, setgid and sticky bits")
  func permissions() throws {
    #expect(try status(after: .init(permissions: 0o640)).st_mode & 0o7777 == 0o640)
    #expect(try status(after: .init(permissions: 0o666)).st_mode & 0o7777 == 0o666)
    #expect(try status(after: .init(permissions: 0o7755)).st_mode & 0o7777 == 0o755)
    #expect(try status(after: .init(permissions: 0)).st_mode & 0o7777 == 0)
  }

  @Test("times are stored to the nanosecond, also before 1970")
  func times() throws {
    let metadata = AtomicFile.Metadata(
      times: .init(
        accessed: .init(seconds: 1_000_000_000, nanoseconds: 1),
        modified: .init(seconds: -1, nanoseconds: 999_999_999)))
    let raw = try status(after: metadata)
    #expect(raw.st_atim.tv_sec == 1_000_000_000)
    #expect(raw.st_atim.tv_nsec == 1)
    #expect(raw.st_mtim.tv_sec == -1)
    #expect(raw.st_mtim.tv_nsec == 999_999_999)
  }

  @Test(
    "the file gets the requested owner when root writes it",
    .enabled(if: geteuid() == 0, "only root may change owners"))
  func owner() throws {
    let raw = try status(after: .init(permissions: 0o640, owner: .init(user: 1_234, group: 4_321)))
    #expect(raw.st_uid == 1_234)
    #expect(raw.st_gid == 4_321)
    #expect(raw.st_mode & 0o7777 == 0o640)
  }

  @Test(
    "without the intended group, group and others have the rights that both had",
    arguments: [
      (0o604, 0o600), (0o640, 0o600), (0o644, 0o644), (0o664, 0o644), (0o657, 0o655), (0o777, 0o777),
    ] as [(UInt32, UInt32)])
  func foreignGroup(wanted: UInt32, given: UInt32) throws {
    try folder.file("out", "x")
    let calls = FaultyCalls()
    calls.on(.change(.setOwner), nil, .fail(EPERM))
    let file = try calls.openFile(folder.path("out"), followingLast: true)
    for (owner, mode) in [(.init(group: 4_321), given), (.init(user: 1_234, group: 4_321), wanted & 0o700)]
      as [(AtomicFile.Metadata.Owner, UInt32)]
    {
      let metadata = AtomicFile.Metadata(permissions: wanted, owner: owner)
      #expect(metadata.apply(to: file.raw, calls: calls).failed == 0)
      #expect(folder.status("out").map { $0.mode & 0o7777 } == mode)
    }
  }

  @Test(
    "the default permissions are 0666 without the umask",
    arguments: [
      ("Name:\tx\nUmask:\t0022\nState:\tR\n", 0o022), ("Umask:\t0000\n", 0), ("Umask:\t0033", 0o033),
      ("Umask:\t0777\n", 0o777), ("Name:\tx\n", 0o077), ("", 0o077), ("Umask:\n", 0o077),
      ("Umask:\t77777777777777\n", 0o077),
    ] as [(String, UInt32)])
  func umask(status: String, umask: UInt32) {
    #expect(AtomicFile.umask(processStatus: Array(status.utf8)) == umask)
  }

  @Test("a file without requested permissions gets the default ones")
  func defaultPermissions() throws {
    #expect(try status(after: .init()).st_mode & 0o7777 == AtomicFile.defaultPermissions)
  }
}
