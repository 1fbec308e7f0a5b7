import BatchEngine

/// Reads a large file before it is archived, to recognize a content that the previous snapshot has.
///
/// It reports nothing: a file that cannot be read, or changes, is archived as usual, and that reports why.
final class ContentProbe {
  /// Bytes that are read between two cancellation checks.
  private static let pieceSize = 1 << 20

  struct Finding {
    let digest: Digest
    let attributes: Digest?
    let isSettled: Bool
  }

  private let digests: DigestStream
  private let settling: ChangeSettling
  private var buffer: ScratchBuffer?

  init(_ settling: ChangeSettling) throws(BatchError) {
    digests = try DigestStream(.sha256)
    self.settling = settling
  }

  /// - Returns: nil if the content is not certain, or has too many holes to be hashed.
  func read(_ member: LargeMember, in context: WorkerContext) throws(BatchError) -> Finding? {
    do throws(BatchError) {
      return try context.withFile(member.record) { (descriptor, before) throws(BatchError) in
        guard before.hasSameContent(as: member.record.status) else { return nil }
        let isSettled = settling.isSettled(before, of: descriptor)
        let digest = SparseDigest(digests, map: member.dataMap, size: member.size)
        for range in member.dataMap ?? [0..<member.size] {
          guard try read(range, of: descriptor, into: digest, context) else { return nil }
        }
        let attributes = try AttributeReader.attributes(of: descriptor).digest()
        guard try context.status(of: descriptor).hasSameContent(as: before), let found = try digest.finish()
        else { return nil }
        return Finding(digest: found, attributes: attributes, isSettled: isSettled)
      }
    } catch {
      try context.checkCancellation()
      return nil
    }
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
