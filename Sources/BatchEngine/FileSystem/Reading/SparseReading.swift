import Glibc

/// Reads files with holes without asking the kernel for the zeros in them.
package enum SparseReading {
  /// Bytes of zeros passed at a time.
  private static let pieceSize = 1 << 20
  private static let zeros = [UInt8](repeating: 0, count: pieceSize)

  /// Calls `consume` with this many zeros, in pieces of at most 1 MiB.
  package static func hand(
    zeros count: UInt64, to consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) {
    try withBytes(of: zeros) { (zeros) throws(BatchError) in
      var rest = count
      while rest > 0 {
        let piece = Int(min(rest, UInt64(zeros.count)))
        try consume(UnsafeRawBufferPointer(rebasing: zeros[..<piece]))
        rest -= UInt64(piece)
      }
    }
  }

  /// Fills a buffer with the bytes of a file from an offset on.
  ///
  /// - Parameter mayHaveHoles: whether the file is searched for holes.
  /// - Returns: how many bytes were read, or the negative error number of `pread(2)`.
  package static func fill(
    _ buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32, at offset: UInt64, mayHaveHoles: Bool,
    calls: any FileSystemCalls
  ) -> Int {
    let end = offset + UInt64(buffer.count)
    var count = 0
    while count < buffer.count {
      var rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
      let position = offset + UInt64(count)
      if mayHaveHoles, let data = DataMap.next(descriptor, in: position..<end) {
        let hole = Int(data.lowerBound - position)
        if hole > 0 {
          UnsafeMutableRawBufferPointer(rebasing: rest[..<hole]).initializeMemory(
            as: UInt8.self, repeating: 0)
          count += hole
          continue
        }
        rest = UnsafeMutableRawBufferPointer(rebasing: rest[..<data.count])
      }
      let result = calls.read(descriptor, into: rest, at: off_t(clamping: position))
      guard result >= 0 else { return result }
      if result == 0 { break }
      count += result
    }
    return count
  }
}
