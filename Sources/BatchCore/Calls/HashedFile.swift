import BatchEngine

extension Batch {
  /// The digests of one file.
  public struct HashedFile: Sendable {
    public let path: PathBytes
    /// In the order of ``HashOptions/algorithms``.
    public let digests: [Digest]
    /// Bytes that were hashed.
    public let size: UInt64
    /// The file's time of modification.
    public let modified: FileStatus.Time
  }
}

extension Batch.HashedFile {
  /// Appends a row as bytes; the results of a chunk are kept in this form.
  static func append(_ row: ManifestRow, to bytes: inout [UInt8]) {
    func append(_ number: some FixedWidthInteger) {
      withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }
    append(row.size)
    append(row.modified?.seconds ?? 0)
    append(row.modified?.nanoseconds ?? 0)
    append(UInt64(row.path.bytes.count))
    bytes += row.path.bytes
    for digest in row.digests { bytes += digest.bytes }
  }

  /// - Parameters:
  ///   - row: the bytes that ``append(_:to:)`` makes.
  ///   - algorithms: those of the digests in the row.
  init?(_ row: ArraySlice<UInt8>, _ algorithms: [DigestAlgorithm]) {
    var reader = LittleEndianReader(row)
    guard let size: UInt64 = reader.number(), let seconds: Int64 = reader.number(),
      let nanoseconds: UInt32 = reader.number(), let length: UInt64 = reader.number(),
      let path = reader.take(Int(clamping: length))
    else { return nil }
    var digests: [Digest] = []
    for algorithm in algorithms {
      guard let bytes = reader.take(algorithm.byteCount), let digest = Digest(algorithm, bytes: bytes) else {
        return nil
      }
      digests.append(digest)
    }
    self.init(
      path: PathBytes(path), digests: digests, size: size,
      modified: FileStatus.Time(seconds: seconds, nanoseconds: Int32(clamping: nanoseconds)))
  }

  /// The row for a manifest.
  var row: ManifestRow {
    ManifestRow(path: path, digests: digests, size: size, modified: modified)
  }
}
