import BatchEngine
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchCore

@Suite struct SetLockTests {
  private let t: TreeFixture
  private let run = RunContext()

  init() throws { t = try TreeFixture() }

  private func lock() throws -> SetLock { try SetLock(t.path("lock"), isWritable: true, calls: LinuxCalls()) }

  @Test("one writer and many readers may hold it, and removing needs the lock without readers")
  func modes() throws {
    let (writer, other, reader, second) = (try lock(), try lock(), try lock(), try lock())
    try writer.take(.writing, .none, run.cancellation)
    expectError(.locked) { try other.take(.writing, .none, run.cancellation) }
    try reader.take(.reading, .none, run.cancellation)
    try second.take(.reading, .none, run.cancellation)
    expectError(.locked) { try writer.take(.removing, .none, run.cancellation) }
    reader.release(.reading)
    second.release(.reading)
    try writer.take(.removing, .none, run.cancellation)
    expectError(.locked) { try reader.take(.reading, .none, run.cancellation) }
    writer.release(.removing)
    try reader.take(.reading, .none, run.cancellation)
  }

  @Test("it waits for the given time, by the given clock")
  func patience() throws {
    let holder = Mutex<SetLock?>(try lock())
    try holder.withLock { try $0?.take(.writing, .none, run.cancellation) }
    let waited = Mutex(0.0)
    let patience = SetLock.Patience(limit: 600) { pause in
      let all = waited.withLock { waited in
        waited += pause
        return waited
      }
      if all > 300 { holder.withLock { $0 = nil } }
    }
    try lock().take(.writing, patience, run.cancellation)
    #expect(waited.withLock { $0 } > 300)
    holder.withLock { $0 = try? lock() }
    try holder.withLock { try $0?.take(.writing, .none, run.cancellation) }
    waited.withLock { $0 = -1000 }
    expectError(.locked) { try lock().take(.writing, patience, run.cancellation) }
    #expect(abs(waited.withLock { $0 } + 400) < 1)
  }

  @Test("the note is the one that was written last")
  func note() throws {
    let first = try lock()
    #expect(first.pending == [])
    try first.note(["a-20261122T164917Z.tar.zst", PathBytes([0xff])])
    #expect(try lock().pending == ["a-20261122T164917Z.tar.zst", PathBytes([0xff])])
    try first.note(["b"])
    #expect(try lock().pending == ["b"])
    try first.note([])
    #expect(try lock().pending == [])
  }

  @Test(
    "the file keeps its blocks, so that a record never needs a new one, and is read as one of an earlier version"
  )
  func blocks() throws {
    let first = try lock()
    try first.note(["a"])
    #expect(try t.path("lock").status().size == 4096)
    let many = (0..<1000).map { PathBytes("name-\($0)") }
    try first.note(many)
    let size = try t.path("lock").status().size
    #expect(first.pending == many && size > 8000)
    try first.note(["b"])
    #expect(try t.path("lock").status().size == size && first.pending == ["b"])
    try first.note([])
    #expect(t.content("lock")?.allSatisfy { $0 == 0 } == true && first.pending == [])
    try t.file("lock", "a\0b\0")
    #expect(try lock().pending == ["a", "b"])
  }

  @Test("the error names the holder, with its start time")
  func holder() throws {
    let (writer, other) = (try lock(), try lock())
    try writer.take(.writing, .none, run.cancellation)
    let refused = expectError(.locked) { try other.take(.writing, .none, run.cancellation) }
    #expect(
      refused?.message.contains("the lock of the set: process \(getpid()) since 20") == true,
      "\(String(describing: refused))")
    #expect(
      LockHolder.tells(
        Array("pos:\t0\nlock:\t1: OFDLCK  ADVISORY  WRITE -1 08:02:12 0 0\n".utf8), byte: 0, inode: 12))
    #expect(
      !LockHolder.tells(Array("lock:\t1: OFDLCK  ADVISORY  READ -1 08:02:12 1 1\n".utf8), byte: 0, inode: 12))
    #expect(
      !LockHolder.tells(
        Array("lock:\t1: OFDLCK  ADVISORY  WRITE -1 08:02:112 0 0\n".utf8), byte: 0, inode: 12))
  }
}
