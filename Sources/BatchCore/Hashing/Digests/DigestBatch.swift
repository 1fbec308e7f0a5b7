import BatchEngine
import CSHA256

/// Contents in memory that wait for their SHA-256, so that several can be hashed at once.
package final class DigestBatch {
  /// The bytes to collect: usually they include some long contents, and they fit into the cache of the core.
  static let size = 1 << 20
  /// The longest content that waits for others.
  static let longest = PairedDigests.isOffered ? 512 << 10 : MultiBufferDigests.longest

  private let library: OptionalLibrary<MultiBufferDigests>
  private let stream: DigestStream
  private var contents: [UnsafeRawBufferPointer] = []
  package private(set) var byteCount = 0

  /// - Parameter library: hashes short contents, if there is more than one.
  package init(
    by library: OptionalLibrary<MultiBufferDigests> = MultiBufferDigests.shared
  ) throws(BatchError) {
    self.library = library
    stream = try DigestStream(.sha256)
  }

  /// Adds a content, which must stay in memory until ``finish(_:)``.
  package func add(_ content: UnsafeRawBufferPointer) {
    contents.append(content)
    byteCount += content.count
  }

  /// Computes the digests, and passes them on in the order of the contents.
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

  /// Computes several digests at once; nil for the others.
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
    // The longest first, so that little remains without a partner.
    rest.sort { contents[$0].count > contents[$1].count }
    compute(rest, into: &found) { contents, digests in
      PairedDigests.compute(contents, into: digests)
      return true
    }
    return found
  }

  /// - Parameter body: writes the digests of contents, and returns whether it succeeded.
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

/// Computes the SHA-256 of contents of any length, two at once on one core, if the processor has instructions for it.
///
/// Like ``MultiBufferDigests``, but without length limit and without a library that may be missing.
enum PairedDigests {
  static let isOffered = csha256_is_offered() != 0

  /// Writes the digests of these contents, 32 bytes each. Called only if ``isOffered``.
  static func compute(_ contents: [UnsafeRawBufferPointer], into digests: UnsafeMutablePointer<UInt8>) {
    let contents = contents.map { csha256_content(start: $0.baseAddress, count: $0.count) }
    csha256_compute(contents, contents.count, digests)
  }
}
