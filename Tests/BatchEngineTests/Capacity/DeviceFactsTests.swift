import CLinux
import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct DeviceFactsTests {
  private let fixture: TreeFixture

  init() throws { fixture = try TreeFixture() }

  @Test(
    "A disk that reports that it rotates is rotational unless it is a virtual one",
    arguments: [
      ("1", "ATA     ", "ST4000DM004-2CV1", true), ("0", "ATA     ", "ST4000DM004-2CV1", false),
      ("1", "ATA     ", "QEMU HARDDISK   ", false), ("1", "ATA     ", "VBOX HARDDISK   ", false),
      ("1", "VMware  ", "Virtual disk    ", false), ("1", "Msft    ", "Virtual Disk    ", false),
      // Devices of virtio, loop devices and the device mapper.
      ("1", "0x1af4", nil, false), ("1", nil, nil, false),
    ] as [(String, String?, String?, Bool)])
  func isRotational(rotational: String, vendor: String?, model: String?, isExpected: Bool) throws {
    var raw = stat()
    #expect(fixture.root.withCString { stat($0, &raw) } == 0)
    let number = UInt64(raw.st_dev)
    let disk = "sys/dev/block/\(clinux_major(number)):\(clinux_minor(number))"
    try fixture.file(PathBytes(disk + "/queue/rotational"), rotational + "\n")
    if let vendor { try fixture.file(PathBytes(disk + "/device/vendor"), vendor + "\n") }
    if let model { try fixture.file(PathBytes(disk + "/device/model"), model + "\n") }
    let sys = fixture.root.appending("sys".utf8)
    #expect(DeviceFacts.isRotational(fixture.root, sys: sys) == isExpected)
    #expect(!DeviceFacts.isRotational("nowhere", sys: sys))
  }

  @Test("only file systems are local whose type is known and needs no other machine")
  func isLocal() throws {
    #expect(DeviceFacts.isLocal(fixture.root))
    #expect(!DeviceFacts.isLocal(fixture.root.appending("missing".utf8)))
    // A pipe has a file system whose type no user meets.
    #expect(!DeviceFacts.isLocal("/proc/self/ns/mnt"))
  }
}
