import CLinux
import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite("An output device") struct SyncDeviceTests {
  private let folder: TreeFixture

  init() throws { folder = try TreeFixture() }

  @Test("is a character device that is given by its own name, and not by a link to it")
  func names() throws {
    #expect(SyncDevice.isOne("/dev/null"))
    let link = folder.path("link")
    #expect(link.withCString { symlink("/dev/null", $0) } == 0)
    let pipe = folder.path("pipe")
    #expect(pipe.withCString { mkfifo($0, 0o600) } == 0)
    let file = try folder.file("file", "x")
    for path in [link, pipe, file, folder.path("missing"), folder.root, "/dev/stdout-of-nobody"] {
      #expect(!SyncDevice.isOne(path), "\(path)")
    }
  }

  @Test("is a pipe that is given by its open descriptor, and not a regular file that is open")
  func descriptors() throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    let reader = Descriptor(owning: ends[0])
    let writer = Descriptor(owning: ends[1])
    let path = PathBytes("/dev/fd/\(writer.raw)")
    #expect(SyncDevice.isOne(path))
    let device = try #require(try SyncDevice(path, cancellation: Cancellation(), terminalFilter: nil))
    #expect(!device.isTerminal)
    try device.write(Array("content".utf8))
    try device.finish()
    var bytes = [UInt8](repeating: 0, count: 16)
    #expect(read(reader.raw, &bytes, bytes.count) == 7)
    #expect(bytes.starts(with: "content".utf8))
    try folder.file("file", "x")
    let opened = folder.path("file").withCString { clinux_openat(AT_FDCWD, $0, O_RDWR | O_CLOEXEC, 0) }
    try #require(opened >= 0)
    let file = Descriptor(owning: opened)
    #expect(!SyncDevice.isOne(PathBytes("/proc/self/fd/\(file.raw)")))
  }

  @Test("is named in the error when it takes no data")
  func full() throws {
    let device = try #require(
      try SyncDevice("/dev/full", cancellation: Cancellation(), terminalFilter: nil))
    let error = #expect(throws: BatchError.self) { try device.write([1]) }
    #expect(error?.path == "/dev/full" && error?.code == .unwritable && error?.errno == ENOSPC)
  }
}
