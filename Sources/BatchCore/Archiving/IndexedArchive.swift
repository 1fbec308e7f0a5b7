/// An archive with an index that was found and is right.
struct IndexedArchive: Sendable {
  let file: ArchiveFile
  /// Nil where nothing is compressed.
  let format: CompressionFormat?
  let index: MemberIndex
  /// Where the part behind the members begins that decoders pass over.
  let indexStart: UInt64

  /// What the search for an index came to.
  enum Finding {
    case none
    case found(IndexedArchive, remarks: [String])
    /// There is one, and it is of no use.
    case damaged(BatchError)
  }

  /// Looks for an index at the end of a file.
  ///
  /// - Throws: what reading throws; a damaged index is a finding.
  static func find(in file: ArchiveFile) throws(BatchError) -> Finding {
    guard let size = file.size, size >= UInt64(CompressionFormat.detectionLength) else { return .none }
    let start = try file.bytes(at: 0, count: CompressionFormat.detectionLength)
    switch CompressionFormat.detect(archive: start) {
    case .zst: return try ZstdIndexLocator(file: file, size: size).find()
    case .bz2: return try BZip2IndexLocator(file: file, size: size).find()
    case .lz4, .gz, .xz, nil: return .none
    }
  }

  /// The index that a piece of zstd holds.
  ///
  /// - Throws: `malformed` when it is damaged.
  static func decode(_ compressed: [UInt8], size: UInt64) throws(BatchError) -> MemberIndex {
    // An index is names and digests, which do not shrink to a hundredth; a bomb does.
    let limit = min(UInt64(1) << 31, max(64 << 20, UInt64(compressed.count) * 256))
    let decoder = try CompressionFormat.zst.makeDecoder(DecoderOptions(maximumOutput: limit))
    var bytes = [UInt8]()
    let damage = try withBytes(of: compressed) { (raw) throws(BatchError) in
      try FileDecoder.damage { () throws(DecodingError) in
        try decoder.decode(raw) { (piece) throws(BatchError) in bytes.append(contentsOf: piece) }
        try decoder.finish()
      }
    }
    guard damage == nil else { throw BatchError(.malformed, "the member index is damaged") }
    return try MemberIndex(bytes, size: size)
  }
}
