import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct SavedDevicesTests {
  private static let id = "0123456789abcdef"

  @Test func itsContentIsReadAgain() {
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
  func whatIsNoLineIsLeftOut(line: String) {
    #expect(SavedDevices(Array((line + "\n").utf8)).numbers.isEmpty)
  }

  @Test func aFileThatOthersMayWriteSaysNothing() throws {
    let t = try TreeFixture()
    try t.file("devices", "\(Self.id) 7\n")
    let path = t.root.appending("devices".utf8)
    #expect(SavedDevices(readingAt: path)[Self.id] == 7)
    _ = path.withCString { chmod($0, 0o666) }
    #expect(SavedDevices(readingAt: path).numbers.isEmpty)
    #expect(SavedDevices(readingAt: t.root).numbers.isEmpty)
    #expect(SavedDevices(readingAt: nil).numbers.isEmpty)
  }

  @Test func itsPlaceFollowsTheEnvironment() {
    #expect(SavedDevices.path { $0 == "XDG_STATE_HOME" ? "/s" : nil } == "/s/batchproc/devices")
    #expect(SavedDevices.path { $0 == "HOME" ? "/home/u" : nil } == "/home/u/.local/state/batchproc/devices")
    #expect(SavedDevices.path { $0 == "HOME" ? "/h" : "relative" } == "/h/.local/state/batchproc/devices")
    #expect(SavedDevices.path { _ in nil } == nil)
  }
}
