import BatchEngine
import CDeflate
import CMD5

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

/// Computes the checksums of blocks of one size: of eight at once where the processor has vectors for it.
///
/// The MD5 follows RFC 1321. Its rounds depend on each other, so that one computation leaves most of a core unused.
final class BlockDigests {
  /// The most blocks of one call.
  static let atOnce = 8
  /// The bytes of a block that are read at once. A multiple of 64; eight pieces fit into the second cache of a core.
  private static let pieceSize = 32 << 10

  private let blockSize: Int
  private let single: BlockDigest
  private let buffer = AlignedRegion(byteCount: atOnce * pieceSize)
  private var states = cmd5_states()

  /// - Throws: as ``DigestStream/init(_:)``.
  init(blockSize: Int) throws(BatchError) {
    self.blockSize = blockSize
    single = try BlockDigest()
  }

  /// - Parameters:
  ///   - count: how many blocks, at most ``atOnce``.
  ///   - read: fills a piece of a block, whose number below `count` and whose first column it gets. Zeros follow the end of the block.
  /// - Returns: the checksums in the order of the blocks.
  /// - Throws: what `read` throws.
  func checksums(
    of count: Int, _ read: (Int, Int, UnsafeMutableRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> [BlockChecksum] {
    count > 1 && cmd5_is_offered() != 0 ? try together(count, read) : try apart(count, read)
  }

  private func apart(
    _ count: Int, _ read: (Int, Int, UnsafeMutableRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> [BlockChecksum] {
    var sums: [BlockChecksum] = []
    for block in 0..<count {
      for column in stride(from: 0, to: blockSize, by: buffer.byteCount) {
        let piece = UnsafeMutableRawBufferPointer(
          rebasing: buffer.bytes[..<min(buffer.byteCount, blockSize - column)])
        try read(block, column, piece)
        try single.add(UnsafeRawBufferPointer(piece))
      }
      sums.append(try single.finish(zeros: 0))
    }
    return sums
  }

  private func together(
    _ count: Int, _ read: (Int, Int, UnsafeMutableRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> [BlockChecksum] {
    var checks = [UInt32](repeating: 0, count: count)
    var rest = 0
    cmd5_begin(&states)
    for column in stride(from: 0, to: blockSize, by: Self.pieceSize) {
      let size = min(Self.pieceSize, blockSize - column)
      for block in 0..<count {
        let start = block * Self.pieceSize
        let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[start..<(start + size)])
        try read(block, column, piece)
        checks[block] = Checksums.check(UnsafeRawBufferPointer(piece), after: checks[block])
      }
      rest = size % 64
      cmd5_add(&states, buffer.base, Self.pieceSize, size / 64)
      if rest > 0 { break }
    }
    var hashes = [UInt8](repeating: 0, count: Self.atOnce * 16)
    let last = (blockSize - rest) % Self.pieceSize
    cmd5_finish(&states, buffer.base + last, Self.pieceSize, UInt64(blockSize), &hashes)
    return hashes.withUnsafeBytes { bytes in
      (0..<count).map { block in
        BlockChecksum(
          hash: ParityHash(UnsafeRawBufferPointer(rebasing: bytes[(16 * block)..<(16 * block + 16)])),
          check: checks[block])
      }
    }
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
