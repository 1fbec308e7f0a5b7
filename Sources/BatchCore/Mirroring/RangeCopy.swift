import BatchEngine
import var Glibc.EBADF
import var Glibc.EINVAL
import var Glibc.ENOSPC
import var Glibc.ENOSYS
import var Glibc.EOPNOTSUPP
import var Glibc.EXDEV

/// Copies ranges of a file to the same places of another one: inside the kernel where that is possible, otherwise by reading and
/// writing. Holes are left out.
struct RangeCopy {
  /// Bytes in one call of the kernel, between which a run can be stopped.
  private static let pieceSize: UInt64 = 32 << 20
  private static let bufferSize: UInt64 = 1 << 20

  let calls: any FileSystemCalls
  var usesKernel = true
  /// Checks whether the run is to stop.
  let check: () throws(BatchError) -> Void

  init(calls: any FileSystemCalls, check: @escaping () throws(BatchError) -> Void) {
    (self.calls, self.check) = (calls, check)
  }

  /// - Parameters:
  ///   - hasHoles: whether the source is searched for holes, which moves the offset of its descriptor.
  ///   - unsupported: called if the kernel cannot copy between these file systems.
  /// - Returns: false if the source ended too early or cannot be read.
  /// - Throws: the error of `check`; `unwritable`.
  func copy(
    _ range: Range<UInt64>, of source: Int32, to target: Int32, hasHoles: Bool, unsupported: () -> Void
  ) throws(BatchError) -> Bool {
    var isKernel = usesKernel
    var position = range.lowerBound
    while position < range.upperBound {
      try check()
      var data = position..<range.upperBound
      if hasHoles, let next = DataMap.next(source, in: data) {
        if next.isEmpty { return true }
        data = next
      }
      let rest = data.lowerBound..<min(data.upperBound, data.lowerBound + Self.pieceSize)
      position = rest.upperBound
      var done = rest.lowerBound
      while isKernel, done < rest.upperBound {
        let count = calls.copy(done..<rest.upperBound, of: source, to: target)
        if count > 0 {
          done = min(rest.upperBound, done + UInt64(count))
          continue
        }
        // Some file systems report 0 too early; what follows is read.
        isKernel = false
        if [-EXDEV, -EINVAL, -EOPNOTSUPP, -ENOSYS, -EBADF].contains(Int32(clamping: count)) { unsupported() }
      }
      if done < rest.upperBound, try !move(done..<rest.upperBound, of: source, to: target) { return false }
    }
    return true
  }

  private func move(
    _ range: Range<UInt64>, of source: Int32, to target: Int32
  ) throws(BatchError) -> Bool {
    let buffer = try ScratchBuffer(capacity: Int(min(Self.bufferSize, UInt64(range.count))))
    var position = range.lowerBound
    while position < range.upperBound {
      try check()
      let room = UnsafeMutableRawBufferPointer(
        rebasing: buffer.room[..<Int(min(UInt64(buffer.room.count), range.upperBound - position))])
      guard let count = try? calls.fill(room, from: source, at: position), count == room.count else {
        return false
      }
      let failed = calls.write(UnsafeRawBufferPointer(room), to: target, at: Int(clamping: position))
      guard failed == 0 else { throw .output("write", errno: -failed) }
      position += UInt64(count)
    }
    return true
  }
}
