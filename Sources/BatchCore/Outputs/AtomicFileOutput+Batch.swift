import BatchEngine
import Glibc

/// Reading back, and files with holes.
extension AtomicFileOutput {
  private static let pieceSize = 256 << 10

  func readBack(_ body: (UnsafeRawBufferPointer) throws(BatchError) -> Void) throws(BatchError) {
    let descriptor = openDescriptor
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: off_t = 0
    while true {
      let count = retrying { pread(descriptor, buffer.baseAddress, buffer.count, offset) }
      guard count >= 0 else { throw Self.failure("read back", -count, target) }
      if count == 0 { return }
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += off_t(count)
    }
  }

  /// Zeros in pieces of this size become holes; smaller ones are not worth a seek.
  private static let holeSize = 64 << 10

  mutating func writeSparse(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    var rest = bytes
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest[..<min(rest.count, Self.holeSize)])
      endsInHole = piece.count == Self.holeSize && Self.isZero(piece)
      if endsInHole {
        guard lseek(openDescriptor, off_t(piece.count), SEEK_CUR) >= 0 else {
          throw Self.failure("write", Int(errno), target)
        }
      } else {
        try write(piece)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
    }
  }

  /// Gives what ends in a hole its size; anything else has it.
  func finishSparse(size: Int64) throws(BatchError) {
    guard endsInHole else { return }
    let descriptor = openDescriptor
    let result = retrying { Int(ftruncate(descriptor, off_t(size))) }
    guard result >= 0 else { throw Self.failure("write", -result, target) }
  }

  private static func isZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress, bytes[0] == 0 else { return false }
    return memcmp(base, base + 1, bytes.count - 1) == 0
  }
}
