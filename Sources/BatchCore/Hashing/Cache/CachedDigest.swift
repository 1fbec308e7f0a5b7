import BatchEngine

/// The cached value of a file: its status and its digest.
struct CachedDigest {
  let size: Int64
  let modified: FileStatus.Time
  let changed: FileStatus.Time
  let digest: Digest

  private static let headSize = 32

  /// The stored size in bytes.
  static func size(of algorithm: DigestAlgorithm) -> Int { headSize + algorithm.byteCount }

  init(_ status: FileStatus, _ digest: Digest) {
    size = status.size
    modified = status.modified
    changed = status.statusChanged
    self.digest = digest
  }

  /// Nil for bytes that are not a valid value.
  init?(_ bytes: UnsafeRawBufferPointer, _ algorithm: DigestAlgorithm) {
    guard bytes.count == Self.size(of: algorithm),
      let digest = Digest(algorithm, bytes: bytes[Self.headSize...])
    else { return nil }
    self.digest = digest
    func number(_ offset: Int) -> Int64 {
      Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int64.self))
    }
    func time(_ seconds: Int, _ nanoseconds: Int) -> FileStatus.Time? {
      let part = Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: nanoseconds, as: Int32.self))
      guard (0..<1_000_000_000).contains(part) else { return nil }
      return FileStatus.Time(seconds: number(seconds), nanoseconds: part)
    }
    // Impossible values were never written here.
    guard number(0) >= 0, let modified = time(8, 24), let changed = time(16, 28) else { return nil }
    size = number(0)
    self.modified = modified
    self.changed = changed
  }

  var bytes: [UInt8] {
    var bytes = [UInt8]()
    for number in [size, modified.seconds, changed.seconds] { bytes.appendLittleEndian(number) }
    for number in [modified.nanoseconds, changed.nanoseconds] { bytes.appendLittleEndian(number) }
    return bytes + digest.bytes
  }

  /// Whether a file has the cached size and time of modification.
  func hasContent(of status: FileStatus) -> Bool { size == status.size && modified == status.modified }
}
