import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct PacedCallsTests {
  @Test("reads take as long as the rate requires, by the given clock")
  func pace() throws {
    let t = try TreeFixture()
    let path = try t.file("f", [UInt8](repeating: 1, count: 100_000))
    let time = Mutex(50.0)
    let calls = PacedCalls(LinuxCalls(), bytesPerSecond: 10_000, cancellation: Cancellation()) {
      time.withLock { $0 }
    } sleep: { pause in
      time.withLock { $0 += pause }
    }
    let file = path.withCString { calls.open($0, at: AT_FDCWD, flags: O_RDONLY) }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 100_000)
    var count = 0
    while true {
      let read = buffer.withUnsafeMutableBytes { calls.read(file, into: $0, at: off_t(count)) }
      if read <= 0 { break }
      #expect(read <= 4096)
      count += read
    }
    #expect(count == 100_000)
    #expect(abs(time.withLock { $0 } - 60) < 0.01)
  }

  @Test("a run that is stopped does not wait")
  func cancelled() throws {
    let cancellation = Cancellation()
    cancellation.cancel(BatchError(.cancelled, "stop"))
    let calls = PacedCalls(LinuxCalls(), bytesPerSecond: 1, cancellation: cancellation) {
      0
    } sleep: { _ in
      Issue.record("a cancelled run slept")
    }
    var byte: [UInt8] = [0]
    let file = open("/dev/zero", O_RDONLY)
    defer { close(file) }
    #expect(byte.withUnsafeMutableBytes { calls.read(file, into: $0) } == 1)
  }
}
