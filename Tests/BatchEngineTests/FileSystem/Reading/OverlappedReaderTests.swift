import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct OverlappedReaderTests {
  private static let piece = OverlappedReader.bufferSize
  private let fixture: TreeFixture
  private let calls = FaultyCalls()

  init() throws { fixture = try TreeFixture() }

  private func open() throws -> Descriptor {
    let number = fixture.path("file").withCString { calls.open($0, at: AT_FDCWD, flags: O_RDONLY) }
    return Descriptor(owning: number)
  }

  @Test(arguments: [0, 1, piece, piece + 1, 2 * piece, 3 * piece + 5]) func readsInOrder(size: Int) throws {
    try fixture.file("file", size: size)
    var content = [UInt8]()
    let file = try open()
    try OverlappedReader(calls: calls).read(file, limit: .max) { (bytes) throws(BatchError) in
      content += bytes
    }
    #expect(content == TreeFixture.content(size))
  }

  @Test(arguments: [0, 1, piece, piece + 9, 2 * piece, 3 * piece]) func stopsAtItsLimit(limit: Int) throws {
    try fixture.file("file", size: 3 * Self.piece + 5)
    var content = [UInt8]()
    let file = try open()
    try OverlappedReader(calls: calls).read(file, limit: Int64(limit)) { (bytes) throws(BatchError) in
      content += bytes
    }
    #expect(content == TreeFixture.content(limit))
  }

  @Test func readsAheadWhileTheConsumerWorks() async throws {
    try fixture.file("file", size: 4 * Self.piece)
    let second = Gate()
    calls.on(.read, "file", turns: 2...2, .after { second.open() })
    let calls = calls
    let path = fixture.path("file")
    let count = try await onThread {
      let number = path.withCString { calls.open($0, at: AT_FDCWD, flags: O_RDONLY) }
      let file = Descriptor(owning: number)
      var count = 0
      try OverlappedReader(calls: calls).read(file, limit: .max) { (bytes) throws(BatchError) in
        // The first piece is in use, so only another thread can read the second one now.
        if count == 0 { second.pass() }
        count += bytes.count
      }
      return count
    }
    #expect(count == 4 * Self.piece)
  }

  @Test(arguments: 1...4) func reportsAFaultAfterTheDataBeforeIt(turn: Int) throws {
    try fixture.file("file", size: 3 * Self.piece)
    calls.on(.read, "file", turns: turn...turn, .fail(EIO))
    var count = 0
    let file = try open()
    #expect {
      try OverlappedReader(calls: calls).read(file, limit: .max) { (bytes) throws(BatchError) in
        count += bytes.count
      }
    } throws: { ($0 as? BatchError)?.errno == EIO }
    #expect(count == (turn - 1) * Self.piece)
  }

  @Test func waitsForItsBufferWhenTheConsumerThrows() throws {
    try fixture.file("file", size: 3 * Self.piece)
    let reader = OverlappedReader(calls: calls)
    for _ in 0..<20 {
      let file = try open()
      expectError(.cancelled) {
        try reader.read(file, limit: .max) { (_) throws(BatchError) in throw BatchError(.cancelled, "stop") }
      }
    }
    var content = [UInt8]()
    let file = try open()
    try reader.read(file, limit: .max) { (bytes) throws(BatchError) in content += bytes }
    #expect(content == TreeFixture.content(3 * Self.piece))
  }
}
