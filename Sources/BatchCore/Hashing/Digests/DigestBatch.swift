import BatchEngine

/// Contents that are in memory and wait for their SHA-256, which several short ones get at once.
package final class DigestBatch {
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
    guard contents.count > 1, let library = library.tool(for: byteCount) else {
      for index in contents.indices { try take(index, try stream.digest(of: contents[index])) }
      return
    }
    let longest = library.method.longest
    func isShort(_ content: UnsafeRawBufferPointer) -> Bool {
      content.count <= longest && content.baseAddress != nil
    }
    let short = contents.filter(isShort)
    let digests = [UInt8](unsafeUninitializedCapacity: short.count * 32) { buffer, count in
      guard let base = buffer.baseAddress, library.compute(short, into: base) else { return }
      count = buffer.count
    }
    var position = 0
    for index in contents.indices {
      let end = position + 32
      if isShort(contents[index]), end <= digests.count {
        let digest = digests.withUnsafeBytes { bytes in
          Digest(.sha256) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[position..<end])) }
        }
        position = end
        try take(index, digest)
      } else {
        try take(index, try stream.digest(of: contents[index]))
      }
    }
  }
}
