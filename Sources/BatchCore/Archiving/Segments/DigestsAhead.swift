import BatchEngine

/// Computes the SHA-256 of members in a frame in memory in advance, because several digests can be computed in parallel.
///
/// The ranges of contents come from the index, which is not trusted: a digest is returned only for exactly the bytes from which
/// it was computed.
final class DigestsAhead {
  private let batch: DigestBatch
  private var contents: ArraySlice<UnsafeRawBufferPointer> = []
  private var known: ArraySlice<(content: UnsafeRawBufferPointer, digest: Digest)> = []

  init() throws(BatchError) {
    batch = try DigestBatch()
  }

  /// Starts with the contents of another frame.
  ///
  /// - Parameters:
  ///   - number: the number of the frame.
  ///   - members: numbers of the members that will be read, in order.
  func begin(_ frame: UnsafeRawBufferPointer, _ number: Int, _ slice: IndexSlice, members: [Int]) {
    begin(
      members.compactMap { member in
        guard let place = slice.content(of: member, inFrame: number), place.upperBound <= frame.count
        else { return nil }
        return UnsafeRawBufferPointer(rebasing: frame[place])
      })
  }

  /// - Parameter contents: in memory order.
  func begin(_ contents: [UnsafeRawBufferPointer]) {
    end()
    self.contents = contents.filter { !$0.isEmpty }[...]
  }

  /// Drops everything. Called before the memory of the frame is reused.
  func end() {
    contents = []
    known = []
  }

  /// The digest of a content; nil if these bytes were not expected.
  func digest(of content: UnsafeRawBufferPointer) throws(BatchError) -> Digest? {
    guard let start = content.baseAddress else { return nil }
    func isBefore(_ other: UnsafeRawBufferPointer) -> Bool { other.baseAddress.map { $0 < start } ?? true }
    known = known.drop { isBefore($0.content) }
    if known.isEmpty {
      contents = contents.drop(while: isBefore)
      guard let next = contents.first, Self.isSame(next, content) else { return nil }
      try compute()
    }
    guard let (found, digest) = known.first, Self.isSame(found, content) else { return nil }
    return digest
  }

  private func compute() throws(BatchError) {
    var count = 0
    for content in contents {
      batch.add(content)
      count += 1
      if batch.byteCount >= DigestBatch.size { break }
    }
    let next = Array(contents.prefix(count))
    contents = contents.dropFirst(count)
    try batch.finish { (index, digest) in known.append((next[index], digest)) }
  }

  private static func isSame(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    one.baseAddress == other.baseAddress && one.count == other.count
  }
}
