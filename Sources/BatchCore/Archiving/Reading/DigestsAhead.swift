import BatchEngine

/// SHA-256 of members in a frame that is in memory, computed for some members before they are asked for: several get it at
/// once.
///
/// Where contents lie is what the index says, and is not believed: a digest is given out for exactly the bytes that it was
/// computed of.
final class DigestsAhead {
  private let batch: DigestBatch
  private var contents: ArraySlice<UnsafeRawBufferPointer> = []
  private var known: ArraySlice<(content: UnsafeRawBufferPointer, digest: Digest)> = []

  init() throws(BatchError) {
    batch = try DigestBatch()
  }

  /// Takes the contents of another frame.
  ///
  /// - Parameters:
  ///   - number: of the frame.
  ///   - members: numbers of those that are going to be read, in their order.
  func begin(_ frame: UnsafeRawBufferPointer, _ number: Int, _ slice: IndexSlice, members: [Int]) {
    begin(
      members.compactMap { member in
        guard let place = slice.content(of: member, inFrame: number), place.upperBound <= frame.count
        else { return nil }
        return UnsafeRawBufferPointer(rebasing: frame[place])
      })
  }

  /// - Parameter contents: in the order in which they lie in memory.
  func begin(_ contents: [UnsafeRawBufferPointer]) {
    end()
    self.contents = contents.filter { !$0.isEmpty }[...]
  }

  /// Forgets everything; to be called before the memory of the frame is used for something else.
  func end() {
    contents = []
    known = []
  }

  /// The digest of a content; nil where it is not one that was expected.
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

  /// Computes the next ones.
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
