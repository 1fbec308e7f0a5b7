import BatchEngine

/// The bytes after the end of an uncompressed tar that is read as a stream: the index, if this program wrote the tar.
///
/// The index has a checksum of each frame, but the frames are only known when they have passed. CRC-32 can be combined: that
/// of the whole stream follows from those of the frames and of the tail.
struct StreamedTail {
  /// The bytes of the tail may need this part of the memory, and the decoded index as much again.
  private static let share = 4
  /// No more bytes are kept, which is an index of some 500,000 members.
  private static let most = 32 << 20

  private let memory: Int
  private var bytes: [UInt8]
  /// Whether the tail needs more memory.
  private var isLong = false

  /// - Parameter start: the bytes of the tail that were already read.
  init(_ check: StreamCheck, _ start: [UInt8]) {
    memory = min(check.memory / Self.share, Self.most)
    bytes = start
  }

  mutating func add(_ piece: UnsafeRawBufferPointer) {
    isLong = isLong || bytes.count + piece.count > memory
    if isLong { bytes = [] } else { bytes += piece }
  }

  /// Compares the stream with its index. Called when it was read to its end, and has nothing but an index after its members.
  ///
  /// - Parameters:
  ///   - check: the CRC-32 of the whole stream.
  ///   - start: where the tail begins in the stream.
  /// - Returns: a remark if the index cannot be used, or if the bytes after it are damaged.
  /// - Throws: `malformed` if the stream has another checksum.
  func compare(_ check: UInt32, at start: UInt64, _ name: PathBytes) throws(BatchError) -> String? {
    guard !isLong else { return StoredIndex.tooLarge.message }
    let last = Array(bytes.suffix(TailBlock.size))
    guard let block = TailBlock(last) else { return nil }
    let stored = bytes.prefix(Int(clamping: block.indexLength))
    let index: MemberIndex
    do throws(BatchError) {
      index = try StoredIndex.read(IndexExtent(stored), checks: false, size: .max, memory: memory)
    } catch {
      return error == StoredIndex.tooLarge ? error.message : ArchiveReader.uncheckedRemark
    }
    guard index.frames.last?.compressed.upperBound == start else {
      // The checksums of an archive that was decompressed are those of its compressed bytes.
      return index.frames.last?.plain.upperBound == start ? nil : ArchiveReader.uncheckedRemark
    }
    var expected: UInt32 = 0
    for frame in index.frames {
      guard let check = frame.check else { return ArchiveReader.uncheckedRemark }
      expected = GzipBlockTable.join(expected, check, count: Int(clamping: frame.compressedSize))
    }
    let tail = bytes.withUnsafeBytes { ArchiveFrame.check(of: $0) }
    guard GzipBlockTable.join(expected, tail, count: bytes.count) == check else {
      throw BatchError(
        .malformed, "damaged: wrong checksum, so any of its members may be wrong", path: name)
    }
    let isWhole = last == block.bytes && bytes[stored.endIndex...].dropLast(last.count).allSatisfy { $0 == 0 }
    return isWhole ? nil : TailBlock.damagedRemark
  }
}
