import BatchEngine
import CDeflate

/// An MD5, as PAR2 stores and sorts it: as a number whose first byte is the least significant one.
package struct ParityHash: Sendable, Hashable, Comparable {
  private let low: UInt64
  private let high: UInt64

  /// - Parameter bytes: 16 bytes.
  init(_ bytes: UnsafeRawBufferPointer) {
    low = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
    high = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  init(_ digest: Digest) { self = digest.bytes.withUnsafeBytes { ParityHash($0) } }

  /// - Throws: as ``DigestStream/init(_:)``.
  init(of bytes: [UInt8]) throws(BatchError) {
    let stream = try DigestStream(.md5)
    self.init(try withBytes(of: bytes) { (bytes) throws(BatchError) in try stream.digest(of: bytes) })
  }

  var bytes: [UInt8] {
    withUnsafeBytes(of: (low.littleEndian, high.littleEndian)) { Array($0) }
  }

  package static func < (left: ParityHash, right: ParityHash) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}

/// The checksums of a block, which is filled up with zeros.
struct BlockChecksum: Sendable, Hashable {
  let hash: ParityHash
  let check: UInt32
}

/// Computes the checksums of blocks, one after the other.
final class BlockDigest {
  private let stream: DigestStream
  private var check: UInt32 = 0

  /// - Throws: as ``DigestStream/init(_:)``.
  init() throws(BatchError) { stream = try DigestStream(.md5) }

  func add(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    check = Checksums.check(bytes, after: check)
    try stream.update(bytes)
  }

  /// - Parameter zeros: how many zeros fill the block up.
  func finish(zeros: Int) throws(BatchError) -> BlockChecksum {
    var rest = zeros
    while rest > 0 {
      let piece = UnsafeRawBufferPointer(rebasing: Checksums.zeros[..<min(rest, Checksums.zeros.count)])
      try add(piece)
      rest -= piece.count
    }
    defer { check = 0 }
    return BlockChecksum(hash: ParityHash(try stream.finish()), check: check)
  }
}

enum Checksums {
  nonisolated(unsafe) private static let zeroBytes = UnsafeRawBufferPointer(AlignedRegion.endless(64 << 10))

  static var zeros: UnsafeRawBufferPointer { zeroBytes }

  /// The CRC-32 of bytes that follow others.
  static func check(_ bytes: UnsafeRawBufferPointer, after before: UInt32 = 0) -> UInt32 {
    libdeflate_crc32(before, bytes.baseAddress, bytes.count)
  }

  /// The CRC-32 of zeros that follow others.
  static func check(zeros count: Int, after before: UInt32 = 0) -> UInt32 {
    var (sum, rest) = (before, count)
    while rest > 0 {
      let piece = min(rest, zeros.count)
      sum = check(UnsafeRawBufferPointer(rebasing: zeros[..<piece]), after: sum)
      rest -= piece
    }
    return sum
  }
}

extension AlignedRegion {
  /// Zeros that are never freed.
  fileprivate static func endless(_ count: Int) -> UnsafeMutableRawBufferPointer {
    let base = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 64)
    base.initializeMemory(as: UInt8.self, repeating: 0)
    return base
  }
}
