import CZstd

/// An archive with an index that was found and is right.
struct IndexedArchive: Sendable {
  let file: ArchiveFile
  /// Nil where nothing is compressed.
  let format: CompressionFormat?
  let index: MemberIndex

  /// What the search for an index came to.
  enum Finding {
    case none
    case found(IndexedArchive, remarks: [String])
    /// There is one, and it is of no use. What lies behind `from` is no member's.
    case damaged(BatchError, from: UInt64?)

    /// Where reading without the index ends before the file does.
    var end: UInt64? {
      if case .damaged(_, let start) = self { start } else { nil }
    }
  }

  /// Looks for an index at the end of a file.
  ///
  /// - Throws: what reading throws; a damaged index is a finding.
  static func find(in file: ArchiveFile) throws(BatchError) -> Finding {
    guard let size = file.size, size >= UInt64(CompressionFormat.detectionLength) else { return .none }
    let start = try file.bytes(at: 0, count: CompressionFormat.detectionLength)
    let format = CompressionFormat.detect(archive: start)
    let locator: any IndexLocator =
      switch format {
      case .zst: ZstdIndexLocator(file: file, size: size)
      case .lz4: LZ4IndexLocator(file: file, size: size)
      case .gz: GzipIndexLocator(file: file, size: size)
      case .xz: XZIndexLocator(file: file, size: size)
      case .bz2: BZip2IndexLocator(file: file, size: size)
      case nil: TarIndexLocator(file: file, size: size)
      }
    guard let place = try locator.locate() else { return .none }
    do throws(BatchError) {
      guard let compressed = place.index, let start = place.start else { throw damaged }
      let index = try decode(compressed, size: size)
      guard index.frames.last?.compressed.upperBound == start else {
        return .damaged(BatchError(.malformed, "the member index is that of another archive"), from: nil)
      }
      let remarks = place.agrees(with: index) ? [] : ["the seek table is damaged"]
      return .found(
        IndexedArchive(file: file, format: format, index: index), remarks: place.remarks + remarks)
    } catch {
      if error.code != .malformed { throw error }
      return .damaged(error, from: place.start)
    }
  }

  private static let damaged = BatchError(.malformed, "the member index is damaged")

  /// The index that a piece of zstd holds.
  ///
  /// - Throws: `malformed` when it is damaged.
  static func decode(_ compressed: [UInt8], size: UInt64) throws(BatchError) -> MemberIndex {
    // An index is names and digests, which do not shrink to a hundredth; a bomb does.
    let limit = min(UInt64(1) << 31, max(64 << 20, UInt64(compressed.count) * 256))
    guard let bytes = try decode(compressed, of: .zst, limit: limit) else { throw damaged }
    return try MemberIndex(bytes, size: size)
  }

  /// What a part of the tail holds; nil where it cannot be decoded to its end.
  ///
  /// - Throws: `exhausted` when memory is missing.
  static func decode(
    _ compressed: [UInt8], of format: CompressionFormat, limit: UInt64
  ) throws(BatchError) -> [UInt8]? {
    let decoder = try format.makeDecoder(DecoderOptions(maximumOutput: limit))
    var bytes = [UInt8]()
    // Growing would hold the index twice for a moment.
    if format == .zst { bytes.reserveCapacity(contentSize(of: compressed, limit: limit)) }
    do throws(BatchError) {
      let damage = try withBytes(of: compressed) { (raw) throws(BatchError) in
        try FileDecoder.damage { () throws(DecodingError) in
          try decoder.decode(raw) { (piece) throws(BatchError) in bytes.append(contentsOf: piece) }
          try decoder.finish()
        }
      }
      return damage == nil ? bytes : nil
    } catch {
      // A window, a dictionary, a filter that nothing of ours has: damage made them up.
      return nil
    }
  }

  /// What the frame says of its content, where that is not absurd.
  private static func contentSize(of compressed: [UInt8], limit: UInt64) -> Int {
    let size = ZSTD_getFrameContentSize(compressed, compressed.count)
    return size <= min(limit, UInt64(compressed.count) * 32) ? Int(size) : 0
  }
}
