import CLinux
import Glibc
import Synchronization

/// Memory for what the children of a run print. What does not fit goes to one unnamed file, which all outputs share.
package final class CaptureStore: Sendable {
  /// The most bytes of one output that are kept in memory.
  static let mostInMemory = 1 << 20
  /// The unit in which outputs get parts of the file. The file has holes where a unit is not full.
  static let unit = 256 << 10

  private struct File: ~Copyable {
    var descriptor: Descriptor?
    var units: Int64 = 0
    var free: [Int64] = []
  }

  let calls: any FileSystemCalls
  private let folder: PathBytes
  private let memory: Atomic<Int>
  private let file = Mutex(File())

  /// - Parameters:
  ///   - memory: the most bytes of all outputs that are kept in memory.
  ///   - folder: where the unnamed file is made, when it is needed.
  package init(memory: Int, folder: PathBytes, calls: any FileSystemCalls = LinuxCalls()) {
    self.memory = Atomic(max(0, memory))
    self.folder = folder
    self.calls = calls
  }

  /// Whether so many more bytes may be kept in memory; they count until they are returned.
  func takeMemory(_ count: Int) -> Bool {
    var left = memory.load(ordering: .relaxed)
    while left >= count {
      let (isTaken, now) = memory.weakCompareExchange(
        expected: left, desired: left - count, ordering: .relaxed)
      if isTaken { return true }
      left = now
    }
    return false
  }

  func giveBack(memory count: Int) { memory.add(count, ordering: .relaxed) }

  /// The offset of a unit of the file that no output uses.
  func takeUnit() throws(BatchError) -> Int64 {
    try file.withLock { (file) throws(BatchError) in
      if file.descriptor == nil { file.descriptor = try makeFile() }
      if let offset = file.free.popLast() { return offset }
      let (offset, isTooFar) = file.units.multipliedReportingOverflow(by: Int64(Self.unit))
      guard !isTooFar else { throw .syscall("store output", errno: EFBIG, path: folder) }
      file.units += 1
      return offset
    }
  }

  func giveBack(units: [Int64]) {
    if !units.isEmpty { file.withLock { $0.free += units } }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(BatchError) {
    let failed = calls.write(bytes, to: number, at: off_t(offset))
    guard failed == 0 else { throw .syscall("store output", errno: -failed, path: folder) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(BatchError) {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let count = calls.read(number, into: rest, at: off_t(offset) + off_t(done))
      guard count > 0 else {
        throw .syscall(
          "read stored output", errno: count < 0 ? Int32(truncatingIfNeeded: -count) : EIO, path: folder)
      }
      done += count
    }
  }

  /// It stays open for as long as the store lives.
  private var number: Int32 { file.withLock { $0.descriptor?.raw ?? -1 } }

  private func makeFile() throws(BatchError) -> Descriptor {
    var opened = calls.create(
      folder.appending(".".utf8), flags: O_RDWR | clinux_o_tmpfile, permissions: 0o600)
    if [-EOPNOTSUPP, -EISDIR, -ENOENT, -EINVAL].contains(Int32(truncatingIfNeeded: opened)) {
      let name = folder.appending(TemporaryName().bytes)
      opened = calls.create(name, permissions: 0o600)
      if opened >= 0 { _ = calls.remove(name) }
    }
    guard opened >= 0 else {
      throw .syscall("create a file for output", errno: Int32(truncatingIfNeeded: -opened), path: folder)
    }
    return Descriptor(owning: Int32(truncatingIfNeeded: opened))
  }
}
