import CZstd

/// A member index as it stands in an archive, where ``MemberIndexBuilder`` has put it.
enum StoredIndex {
  private static let damaged = BatchError(.malformed, "the member index is damaged")

  /// - Parameters:
  ///   - checks: whether digests and header checks are wanted; they are most of an index.
  ///   - size: of the archive, which no frame may go beyond.
  /// - Throws: `malformed` when it is damaged.
  static func read(_ stored: IndexExtent, checks: Bool, size: UInt64) throws(BatchError) -> MemberIndex {
    let trailerSize = UInt64(MemberIndex.trailerSize)
    guard stored.count > trailerSize, stored.count <= IndexPlace.largest * 2 else { throw damaged }
    let end = stored.count - trailerSize
    let trailer = try stored.bytes(end..<stored.count)
    let lengths = Array(trailer.prefix(16))
    var reader = LittleEndianReader(lengths[...])
    guard let pagesLength = reader.number(UInt64.self), let headLength = reader.number(UInt64.self),
      let digest = Digest(.sha256, bytes: trailer.dropFirst(lengths.count)),
      pagesLength <= end, headLength <= end - pagesLength
    else { throw damaged }
    let compressed = try stored.bytes(0..<(pagesLength + headLength))
    guard try MemberIndexBuilder.digest(of: compressed, lengths) == digest else { throw damaged }
    var frames = Frames(compressed)
    var pages = [MemberPage]()
    while frames.position < Int(pagesLength) {
      guard let plain = frames.next(), let page = MemberPage(plain) else { throw damaged }
      pages.append(page)
    }
    guard frames.position == Int(pagesLength), let head = frames.next(), frames.position == compressed.count
    else { throw damaged }
    let index = try MemberIndex(head: head, pages: pages, digest: digest, size: size)
    guard index.checksSize == end - UInt64(compressed.count) else { throw damaged }
    return checks ? try index.with(checks: try stored.bytes(UInt64(compressed.count)..<end)) : index
  }

  /// Decodes frames of zstd that stand one behind the other and each say how much they hold.
  private struct Frames {
    private let bytes: [UInt8]
    private(set) var position = 0
    /// Names and numbers do not shrink to a hundredth; a bomb does.
    private var room: UInt64

    init(_ bytes: [UInt8]) {
      self.bytes = bytes
      room = min(UInt64(1) << 31, max(64 << 20, UInt64(bytes.count) * 256))
    }

    /// What the next frame holds; nil where there is none that can be decoded.
    mutating func next() -> [UInt8]? {
      let (start, room) = (position, room)
      var end = start
      let plain: [UInt8]? = bytes.withUnsafeBytes { raw in
        let rest = UnsafeRawBufferPointer(rebasing: raw[start...])
        let length = ZSTD_findFrameCompressedSize(rest.baseAddress, rest.count)
        let size = ZSTD_getFrameContentSize(rest.baseAddress, rest.count)
        guard ZSTD_isError(length) == 0, length > 0, size <= room else { return nil }
        end = start + length
        var isWhole = false
        let plain = [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
          isWhole = ZSTD_decompress(buffer.baseAddress, Int(size), rest.baseAddress, length) == Int(size)
          count = isWhole ? Int(size) : 0
        }
        return isWhole ? plain : nil
      }
      position = end
      self.room = room - UInt64(plain?.count ?? 0)
      return plain
    }
  }
}
