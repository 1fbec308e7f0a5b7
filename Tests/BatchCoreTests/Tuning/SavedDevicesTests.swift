import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct SavedDevicesTests {
  private static let id = "0123456789abcdef"

  @Test func itsContentIsReadBack() {
    var devices = SavedDevices()
    devices[Self.id] = 12
    devices["ffffffffffffffff"] = 1
    #expect(SavedDevices(devices.content) == devices)
    #expect(SavedDevices(devices.content)[Self.id] == 12)
  }

  @Test(arguments: [
    "0123456789abcdef 0", "0123456789abcdef -3", "0123456789abcdef 99999", "0123456789abcdef x", "0123 4",
    "0123456789abcdeg 4", "0123456789abcdef 4 5", "0123456789abcdef",
  ])
  func anInvalidLineIsSkipped(line: String) {
    #expect(SavedDevices(Array((line + "\n").utf8)).numbers.isEmpty)
  }

  @Test func aFileThatOthersMayWriteIsNotUsed() throws {
    let t = try TreeFixture()
    try t.file("devices", "\(Self.id) 7\n")
    let path = t.root.appending("devices".utf8)
    #expect(SavedDevices(readingAt: path)[Self.id] == 7)
    _ = path.withCString { chmod($0, 0o666) }
    #expect(SavedDevices(readingAt: path).numbers.isEmpty)
    #expect(SavedDevices(readingAt: t.root).numbers.isEmpty)
    #expect(SavedDevices(readingAt: nil).numbers.isEmpty)
  }

  @Test("its place follows the environment; that of root is the same for a service and in a shell")
  func place() throws {
    func path(isRoot: Bool, _ environment: [String: PathBytes]) -> PathBytes? {
      SavedDevices.path(isRoot: isRoot) { environment[$0] }
    }
    for isRoot in [true, false] {
      #expect(path(isRoot: isRoot, ["XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/s/batchproc/devices")
    }
    #expect(path(isRoot: false, ["HOME": "/home/u"]) == "/home/u/.local/state/batchproc/devices")
    #expect(
      path(isRoot: false, ["HOME": "/h", "XDG_STATE_HOME": "relative"]) == "/h/.local/state/batchproc/devices"
    )
    #expect(path(isRoot: true, ["HOME": "/root"]) == "/var/lib/batchproc/devices")
    #expect(path(isRoot: true, [:]) == "/var/lib/batchproc/devices")
    let earlier = StateFile.place("sets", isRoot: true) { $0 == "HOME" ? "/h" : nil }
    #expect(earlier == StatePlace("/var/lib/batchproc/sets", earlier: "/h/.local/state/batchproc/sets"))
    for isRoot in [true, false] {
      let given = StateFile.place("sets", isRoot: isRoot) { $0 == "XDG_STATE_HOME" ? "/s" : "/h" }
      #expect(given == StatePlace("/s/batchproc/sets"))
    }
    // A service may not have the variable; the home of the user is then taken from the user database.
    let found = try #require(path(isRoot: false, [:]))
    #expect(found.isAbsolute && found.bytes.suffix(31).elementsEqual("/.local/state/batchproc/devices".utf8))
  }

  @Test("a directory of another user is not used", .enabled(if: geteuid() == 0)) func foreign() throws {
    let t = try TreeFixture()
    try t.folder("home")
    _ = t.path("home").withCString { chown($0, 65534, 65534) }
    #expect(
      SavedDevices.path(isRoot: false) { $0 == "HOME" ? t.path("home") : nil }
        == SavedDevices.path(isRoot: false) { _ in nil })
    #expect(
      SavedDevices.path(isRoot: true) { $0 == "XDG_STATE_HOME" ? t.path("home") : "/h" }
        == "/var/lib/batchproc/devices")
  }
}
