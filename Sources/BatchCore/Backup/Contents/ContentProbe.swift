import BatchEngine

/// Reads a large file before it is archived, to recognize a content that the previous snapshot has.
///
/// It reports nothing: a file that cannot be read, or changes, is archived as usual, and that reports why.
final class ContentProbe {
  /// Bytes that are read between two cancellation checks.
  private static let pieceSize = 1 << 20

  struct Finding {
    /// Nil for a file with very large holes.
    let digest: Digest?
    let attributes: Digest?
    let isSettled: Bool
    /// Nil if they were not requested.
    let blocks: BlockList?
  }

  private let digests: DigestStream
  private let settling: ChangeSettling
  private var buffer: ScratchBuffer?

  init(_ settling: ChangeSettling) throws(BatchError) {
    digests = try DigestStream(.sha256)
    self.settling = settling
  }

  /// - Parameter blocks: hashes the blocks too; nil if they are not needed.
  /// - Returns: nil if the content is not certain.
  func read(
    _ file: ProbedFile, _ blocks: BlockHashes?, in context: WorkerContext
  ) throws(BatchError) -> Finding? {
    do throws(BatchError) {
      return try context.withFile(file.record) { (descriptor, before) throws(BatchError) in
        guard before.hasSameContent(as: file.record.status) else { return nil }
        let isSettled = settling.isSettled(before, of: descriptor)
        let map = file.dataMap ?? holes(of: descriptor, before)
        let digest = SparseDigest(digests, map: map, size: file.size, blocks: blocks)
        for range in map ?? [0..<file.size] {
          guard try read(range, of: descriptor, into: digest, context) else { return nil }
        }
        let attributes = try AttributeReader.attributes(of: descriptor).digest()
        guard try context.status(of: descriptor).hasSameContent(as: before) else { return nil }
        let found = try digest.finish()
        return Finding(
          digest: found, attributes: attributes, isSettled: isSettled, blocks: blocks?.finish())
      }
    } catch {
      try context.checkCancellation()
      return nil
    }
  }

  private func holes(of descriptor: Int32, _ status: FileStatus) -> [Range<UInt64>]? {
    guard status.allocated < status.size else { return nil }
    return DataMap.read(descriptor, size: UInt64(clamping: status.size))
  }

  /// - Returns: whether the whole range could be read.
  private func read(
    _ range: Range<UInt64>, of descriptor: Int32, into digest: SparseDigest, _ context: WorkerContext
  ) throws(BatchError) -> Bool {
    let buffer = if let known = self.buffer { known } else { try ScratchBuffer(capacity: Self.pieceSize) }
    self.buffer = buffer
    var position = range.lowerBound
    while position < range.upperBound {
      try context.checkCancellation()
      let wanted = Int(min(UInt64(Self.pieceSize), range.upperBound - position))
      let count = context.calls.read(
        descriptor, into: UnsafeMutableRawBufferPointer(rebasing: buffer.room[..<wanted]),
        at: Int(clamping: position))
      guard count > 0 else { return false }
      try digest.update(UnsafeRawBufferPointer(rebasing: buffer.room[..<count]))
      position += UInt64(count)
    }
    return true
  }
}
