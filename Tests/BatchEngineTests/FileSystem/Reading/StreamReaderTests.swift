import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct StreamReaderTests {
  /// Reads a descriptor to its end.
  private static func content(
    _ descriptor: Int32, _ cancellation: Cancellation = Cancellation()
  ) throws(BatchError) -> [UInt8] {
    let reader = StreamReader(descriptor: descriptor, cancellation: cancellation)
    var content = [UInt8]()
    var buffer = [UInt8](repeating: 0, count: 100)
    while true {
      let count = try Self.read(reader, into: &buffer)
      if count == 0 { return content }
      content += buffer[..<count]
    }
  }

  private static func read(_ reader: StreamReader, into buffer: inout [UInt8]) throws(BatchError) -> Int {
    let result = buffer.withUnsafeMutableBytes { raw in
      Result { () throws(BatchError) in try reader.read(into: raw) }
    }
    return try result.get()
  }

  private static func makePipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw BatchError.syscall("make a pipe", errno: errno) }
    return (ends[0], ends[1])
  }

  @Test func readsAPipeUntilItsWriterCloses() async throws {
    let ends = try Self.makePipe()
    defer { close(ends.read) }
    let bytes = TreeFixture.content(300_000)
    async let written: Void = onThread {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(ends.write, $0.baseAddress, $0.count) }
        rest = rest.dropFirst(max(0, count))
      }
      close(ends.write)
    }
    let content = try await onThread { try Self.content(ends.read) }
    #expect(content == bytes)
    try await written
  }

  @Test func readsAFile() throws {
    let fixture = try TreeFixture()
    try fixture.file("file", size: 1000)
    let file = fixture.path("file").withCString { open($0, O_RDONLY) }
    defer { close(file) }
    #expect(try Self.content(file) == TreeFixture.content(1000))
  }

  @Test func waitsForDataOfANonBlockingPipe() async throws {
    let ends = try Self.makePipe()
    defer { close(ends.read) }
    _ = fcntl(ends.read, F_SETFL, O_NONBLOCK)
    async let reading = onThread { try Self.content(ends.read) }
    _ = write(ends.write, "late", 4)
    close(ends.write)
    let content = try await reading
    #expect(content == Array("late".utf8))
  }

  @Test func stopsWaitingWhenTheRunStops() async throws {
    let ends = try Self.makePipe()
    defer {
      close(ends.read)
      close(ends.write)
    }
    let cancellation = Cancellation()
    let reading = Task { try await onThread { try Self.content(ends.read, cancellation) } }
    cancellation.cancel(BatchError(.cancelled, "stop"))
    await #expect(throws: BatchError(.cancelled, "stop")) { try await reading.value }
  }

  @Test func throwsTheErrorOfTheKernel() {
    #expect { try Self.content(1 << 30) } throws: { ($0 as? BatchError)?.errno == EBADF }
  }
}
