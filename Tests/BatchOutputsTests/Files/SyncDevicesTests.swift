import TestSupport
import Testing

@testable import BatchEngine
@testable import BatchOutputs

@Suite("Folders to sync file systems by")
struct SyncDevicesTests {
  @Test(
    "a kernel reports errors of syncfs from version 5.8 on",
    arguments: [
      ("5.8.0", true), ("5.10.0-21-amd64", true), ("6.1", true), ("10.0.1", true), ("5.7.19", false),
      ("4.19.0-27", false), ("5", false), ("", false), ("strange", false),
    ])
  func kernels(release: String, reports: Bool) {
    #expect(SyncDevices.reportsErrors(release: release) == reports)
  }

  @Test("the first folder on each file system is kept open, up to a limit")
  func keepsFirst() throws {
    let fixture = try TreeFixture()
    try fixture.folder("a")
    try fixture.folder("b")
    let (one, other) = (try OpenFolder(of: fixture.path("a/x")), try OpenFolder(of: fixture.path("b/x")))
    let devices = SyncDevices(limit: 1, release: "6.0")
    devices.note(one)
    devices.note(other)
    guard case .together(let folder) = devices.way(for: other) else {
      // On overlayfs each output is synced by itself.
      return
    }
    #expect(folder === one)
    devices.distrust(other)
    guard case .each = devices.way(for: one) else {
      Issue.record("syncfs is used after a failure")
      return
    }
  }

  @Test("each output is synced by itself when no folder may stay open")
  func keepsNone() throws {
    let fixture = try TreeFixture()
    let folder = try OpenFolder(of: fixture.path("x"))
    let devices = SyncDevices(limit: 0, release: "6.0")
    devices.note(folder)
    guard case .each = devices.way(for: folder) else {
      Issue.record("syncfs is used without an open folder")
      return
    }
  }
}
