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

  @Test("a new rate holds at once, also for reads that wait")
  func change() throws {
    let time = Mutex(0.0)
    let sleeps = Mutex(0)
    let changed = Mutex<PacedCalls?>(nil)
    let calls = PacedCalls(LinuxCalls(), bytesPerSecond: nil, cancellation: Cancellation()) {
      time.withLock { $0 }
    } sleep: { pause in
      time.withLock { $0 += pause }
      sleeps.withLock { $0 += 1 }
      changed.withLock { $0?.setRate(1_000_000) }
    }
    var buffer = [UInt8](repeating: 0, count: 1_000_000)
    let file = open("/dev/zero", O_RDONLY)
    defer { close(file) }
    #expect(buffer.withUnsafeMutableBytes { calls.read(file, into: $0) } == 1_000_000)
    #expect(sleeps.withLock { $0 } == 0)
    // A read that would wait for 4096 s goes on when the rate is changed, after one sleep.
    calls.setRate(1)
    changed.withLock { $0 = calls }
    #expect(buffer.withUnsafeMutableBytes { calls.read(file, into: $0) } == 4096)
    #expect(sleeps.withLock { $0 } == 1)
    changed.withLock { $0 = nil }
    #expect(calls.bytesPerSecond == 1_000_000)
    #expect(buffer.withUnsafeMutableBytes { calls.read(file, into: $0) } == 250_000)
    #expect(abs(time.withLock { $0 } - 0.35) < 0.001)
  }

  @Test("copies inside the kernel are cut and wait too")
  func copies() throws {
    let t = try TreeFixture()
    let path = try t.file("f", [UInt8](repeating: 1, count: 100_000))
    let time = Mutex(50.0)
    let calls = PacedCalls(LinuxCalls(), bytesPerSecond: 40_000, cancellation: Cancellation()) {
      time.withLock { $0 }
    } sleep: { pause in
      time.withLock { $0 += pause }
    }
    let source = path.withCString { calls.open($0, at: AT_FDCWD, flags: O_RDONLY) }
    let target = open(t.root.appending("g".utf8).description, O_RDWR | O_CREAT, 0o600)
    defer {
      close(source)
      close(target)
    }
    var done: UInt64 = 0
    while done < 100_000 {
      let count = calls.copy(done..<100_000, of: source, to: target)
      try #require(count > 0 && count <= 10_000)
      done += UInt64(count)
    }
    #expect(abs(time.withLock { $0 } - 52.5) < 0.01)
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
