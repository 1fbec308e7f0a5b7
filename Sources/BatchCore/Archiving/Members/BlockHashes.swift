import BatchEngine
import CXXHash

/// The hashes of the blocks of a file, from which a later backup sees which blocks have changed.
struct BlockList: Sendable, Hashable {
  /// The smallest file whose blocks are hashed, in bytes.
  static let smallestFile: UInt64 = 4 << 20
  /// The size of each hash in bytes: XXH128.
  static let hashSize = 16

  /// Sizes of blocks, with the size from which on a file has larger ones. Programs write to images and databases in small pieces at
  /// many places, so small blocks store much less; a larger file gets larger blocks, so that its list stays small.
  private static let steps: [(block: UInt64, files: Range<UInt64>)] = [
    (64 << 10, smallestFile..<4 << 30), (256 << 10, 4 << 30..<64 << 30),
    (1 << 20, 64 << 30..<largestFile + 1),
  ]
  /// A file that grows keeps its blocks until it is so many times as large as a new file with larger ones.
  private static let mostGrowth: UInt64 = 16
  /// A larger file is always stored whole: its hashes would take more than 32 MiB of memory.
  private static let largestFile: UInt64 = 2 << 40

  /// The size of the file in bytes.
  let size: UInt64
  /// In bytes; the last block of a file may be shorter.
  let blockSize: UInt64
  /// The hashes of all blocks, one after the other.
  let hashes: [UInt8]

  /// - Returns: nil for a file that is too small.
  static func blockSize(of size: UInt64) -> UInt64? {
    steps.first { $0.files.contains(size) }?.block
  }

  /// Whether a file of this size may be compared with this list.
  func isComparable(with size: UInt64) -> Bool {
    guard size >= Self.smallestFile, size <= Self.largestFile,
      let step = Self.steps.first(where: { $0.block == blockSize })
    else { return false }
    return size / Self.mostGrowth < step.files.upperBound
  }

  static func isBlockSize(_ size: UInt64) -> Bool { steps.contains { $0.block == size } }

  static func count(of size: UInt64, _ blockSize: UInt64) -> UInt64 {
    let (whole, rest) = size.quotientAndRemainder(dividingBy: blockSize)
    return whole + (rest > 0 ? 1 : 0)
  }

  var count: Int { hashes.count / Self.hashSize }

  private func hash(_ index: Int) -> ArraySlice<UInt8> {
    hashes[(index * Self.hashSize)..<((index + 1) * Self.hashSize)]
  }

  /// Which blocks differ from those of an earlier content, block by block. A block that the earlier content does not have whole is
  /// different.
  ///
  /// - Parameter earlier: a list with the same block size.
  func changes(since earlier: BlockList) -> [Bool] {
    (0..<count).map { index in index >= earlier.count || hash(index) != earlier.hash(index) }
  }

  /// The ranges of the file that changed blocks take, neighbours together.
  func ranges(of changes: [Bool]) -> [Range<UInt64>] {
    var ranges = [Range<UInt64>]()
    for (index, isChanged) in changes.enumerated() where isChanged {
      let start = UInt64(index) * blockSize
      let end = min(start + blockSize, size)
      if let last = ranges.last, last.upperBound == start {
        ranges[ranges.count - 1] = last.lowerBound..<end
      } else {
        ranges.append(start..<end)
      }
    }
    return ranges
  }
}

/// Hashes the blocks of a file, whose bytes are passed in order.
final class BlockHashes {
  private let seed: UInt64
  private let blockSize: Int
  private var hashes: [UInt8] = []
  /// The beginning of an incomplete block.
  private var rest: [UInt8] = []
  private var zeroHash: [UInt8]?
  private var size: UInt64 = 0

  /// - Parameter seed: for the hashes; secret, so that no file can be made whose changes are not seen.
  init(seed: UInt64, blockSize: UInt64) {
    self.seed = seed
    self.blockSize = Int(blockSize)
  }

  /// - Returns: nil for a file that is too small.
  convenience init?(seed: UInt64, fileSize: UInt64) {
    guard let size = BlockList.blockSize(of: fileSize) else { return nil }
    self.init(seed: seed, blockSize: size)
  }

  func update(_ bytes: UnsafeRawBufferPointer) {
    size += UInt64(bytes.count)
    var bytes = bytes
    if !rest.isEmpty {
      let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(blockSize - rest.count))
      rest += part
      bytes = UnsafeRawBufferPointer(rebasing: bytes[part.count...])
      guard rest.count == blockSize else { return }
      rest.withUnsafeBytes { add($0) }
      rest.removeAll(keepingCapacity: true)
    }
    while bytes.count >= blockSize {
      add(UnsafeRawBufferPointer(rebasing: bytes[..<blockSize]))
      bytes = UnsafeRawBufferPointer(rebasing: bytes[blockSize...])
    }
    rest += bytes
  }

  /// Adds zeros, such as those of a hole; whole blocks of them are hashed once.
  func addZeros(_ count: UInt64) {
    var count = count
    let zeros = [UInt8](repeating: 0, count: blockSize)
    zeros.withUnsafeBytes { raw in
      let first = min(count, UInt64(rest.isEmpty ? 0 : blockSize - rest.count))
      update(UnsafeRawBufferPointer(rebasing: raw[..<Int(first)]))
      count -= first
      guard count >= UInt64(blockSize) else { return }
      let hash = zeroHash ?? Self.hash(raw, seed)
      zeroHash = hash
      for _ in 0..<(count / UInt64(blockSize)) { hashes += hash }
      size += count / UInt64(blockSize) * UInt64(blockSize)
      count %= UInt64(blockSize)
    }
    zeros.withUnsafeBytes { update(UnsafeRawBufferPointer(rebasing: $0[..<Int(count)])) }
  }

  func finish() -> BlockList {
    if !rest.isEmpty { rest.withUnsafeBytes { add($0) } }
    defer { (rest, hashes, size) = ([], [], 0) }
    return BlockList(size: size, blockSize: UInt64(blockSize), hashes: hashes)
  }

  private func add(_ block: UnsafeRawBufferPointer) { hashes += Self.hash(block, seed) }

  private static func hash(_ block: UnsafeRawBufferPointer, _ seed: UInt64) -> [UInt8] {
    let hash = XXH3_128bits_withSeed(block.baseAddress, block.count, seed)
    var bytes = [UInt8]()
    bytes.appendLittleEndian(hash.low64)
    bytes.appendLittleEndian(hash.high64)
    return bytes
  }
}
