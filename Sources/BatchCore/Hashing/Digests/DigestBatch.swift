import BatchEngine

/// Contents that are in memory and wait for their SHA-256, which several get at once.
package final class DigestBatch {
  /// So many bytes are worth to wait for: among them are mostly some long contents, and they are in the cache of the core.
  static let size = 1 << 20
  /// Longer contents need not wait for others.
  static let longest = PairedDigests.isOffered ? 512 << 10 : MultiBufferDigests.longest

  private let library: OptionalLibrary<MultiBufferDigests>
  private let stream: DigestStream
  private var contents: [UnsafeRawBufferPointer] = []
  package private(set) var byteCount = 0

  /// - Parameter library: computes short contents, where there is more than one.
  package init(
    by library: OptionalLibrary<MultiBufferDigests> = MultiBufferDigests.shared
  ) throws(BatchError) {
    self.library = library
    stream = try DigestStream(.sha256)
  }

  /// Adds a content, which must stay where it is until ``finish(_:)``.
  package func add(_ content: UnsafeRawBufferPointer) {
    contents.append(content)
    byteCount += content.count
  }

  /// Computes the digests, and hands them over in the order of the contents.
  package func finish(_ take: (Int, Digest) throws(BatchError) -> Void) throws(BatchError) {
    defer {
      contents.removeAll(keepingCapacity: true)
      byteCount = 0
    }
    let found = contents.count > 1 ? together() : []
    for index in contents.indices {
      if index < found.count, let digest = found[index] {
        try take(index, digest)
      } else {
        try take(index, try stream.digest(of: contents[index]))
      }
    }
  }

  /// The digests that are computed several at once; nil for the others.
  private func together() -> [Digest?] {
    var found = [Digest?](repeating: nil, count: contents.count)
    var rest = Array(contents.indices)
    if let library = library.tool(for: byteCount) {
      let longest = library.method.longest
      let short = rest.filter { contents[$0].count <= longest && contents[$0].baseAddress != nil }
      compute(short, into: &found) { library.compute($0, into: $1) }
      rest.removeAll { found[$0] != nil }
    }
    guard PairedDigests.isOffered, rest.count > 1 else { return found }
    // The longest first, so that little is left over for which there is no second one.
    rest.sort { contents[$0].count > contents[$1].count }
    compute(rest, into: &found) { contents, digests in
      PairedDigests.compute(contents, into: digests)
      return true
    }
    return found
  }

  /// - Parameter body: writes the digests of contents, and says whether it could.
  private func compute(
    _ indices: [Int], into found: inout [Digest?],
    _ body: ([UnsafeRawBufferPointer], UnsafeMutablePointer<UInt8>) -> Bool
  ) {
    let size = DigestAlgorithm.sha256.byteCount
    let digests = [UInt8](unsafeUninitializedCapacity: indices.count * size) { buffer, count in
      guard let base = buffer.baseAddress, body(indices.map { contents[$0] }, base) else { return }
      count = buffer.count
    }
    guard digests.count == indices.count * size else { return }
    digests.withUnsafeBytes { bytes in
      for (position, index) in indices.enumerated() {
        let digest = bytes[(position * size)..<((position + 1) * size)]
        found[index] = Digest(.sha256) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: digest)) }
      }
    }
  }
}
