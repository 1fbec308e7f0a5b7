import BatchEngine

/// The headers of a 7z archive in a file. Compares the checksums that libarchive reads but does not compare (7zFormat.txt of
/// the LZMA SDK): those of the start header, of the end header, and of a decompressed header.
///
/// That header contains names, times, attributes and the CRC-32 of every content, so damage to it would otherwise be unnoticed.
struct SevenZipHeader {
  static let signature: [UInt8] = [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]
  private static let startSize = 32
  /// A larger header is not decoded a second time.
  private static let largest: UInt64 = 64 << 20

  /// The error for a header that would make libarchive allocate without limit.
  private static let excessive = BatchError(
    .malformed, "damaged: its header claims more than it has bytes for")
  private static let wrongStart = BatchError(.malformed, "damaged: the check of its start header is wrong")
  private static let missing = BatchError(.malformed, "truncated: its header is missing")
  private static let notFound = BatchError(
    .malformed, "damaged: the check of its start header is wrong, and no header is where it says")
  /// The errors after which libarchive must not read the archive.
  static let fatal = [excessive, missing, notFound]

  /// What follows the archive in the file.
  let trailingByteCount: UInt64
  var facts = SevenZipFacts()

  /// - Returns: nil for a file that begins differently, such as a self-extracting archive.
  /// - Throws: `malformed` when a checksum is wrong; one of ``fatal``.
  init?(_ file: ArchiveFile) throws(BatchError) {
    guard let size = file.size, size >= UInt64(Self.startSize) else { return nil }
    let start = try file.bytes(at: 0, count: Self.startSize)[...]
    guard start.starts(with: Self.signature) else { return nil }
    let offset: UInt64 = start.little(at: 12)
    let length: UInt64 = start.little(at: 20)
    let isStartRight = start[6] == 0 && Self.check(of: start[12...]) == start.little(at: 8)
    let room = size - UInt64(Self.startSize)
    guard length <= room, offset <= room - length else {
      throw isStartRight ? Self.missing : Self.notFound
    }
    trailingByteCount = room - length - offset
    guard length > 0, length <= Self.largest else {
      guard isStartRight else { throw Self.wrongStart }
      return
    }
    let header = try file.bytes(at: UInt64(Self.startSize) + offset, count: Int(length))[...]
    // Checked before the checksums, which libarchive does not compare: it reads a damaged header.
    guard let facts = SevenZipCounts.facts(of: header) else { throw Self.excessive }
    guard isStartRight else { throw Self.wrongStart }
    guard Self.check(of: header) == start.little(at: 28) else {
      throw BatchError(.malformed, "damaged: the check of its header is wrong", path: file.path)
    }
    self.facts = try Self.factsOfCompressed(header, in: file, behind: offset) ?? facts
  }

  /// A compressed header states its offset, its coder, and the CRC-32 of the decoded bytes.
  ///
  /// - Returns: nil for another header.
  private static func factsOfCompressed(
    _ header: ArraySlice<UInt8>, in file: ArchiveFile, behind end: UInt64
  ) throws(BatchError) -> SevenZipFacts? {
    guard let stream = LZMAHeader(header), stream.offset <= end, stream.packedSize <= end - stream.offset,
      stream.packedSize <= largest, stream.size <= largest
    else { return nil }
    let packed = try file.bytes(
      at: UInt64(startSize) + stream.offset, count: Int(stream.packedSize))
    let plain = stream.decode(packed)
    guard let facts = SevenZipCounts.facts(of: plain?[...] ?? []) else { throw excessive }
    guard let plain, check(of: plain[...]) == stream.check else {
      throw BatchError(.malformed, "damaged: the check of its header is wrong", path: file.path)
    }
    return facts
  }

  private static func check(of bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.withUnsafeBytes { ArchiveFrame.check(of: $0) }
  }
}

/// A header that is one LZMA stream, as all common programs write it; libarchive checks other forms.
private struct LZMAHeader {
  let offset: UInt64
  let packedSize: UInt64
  let size: UInt64
  let check: UInt32
  private let properties: ArraySlice<UInt8>

  /// - Returns: nil for another form.
  init?(_ header: ArraySlice<UInt8>) {
    var rest = header
    // Compressed header; one packed stream; one folder with one coder.
    guard Self.take(&rest, [0x17, 0x06]), let offset = rest.popSevenZipNumber(), Self.take(&rest, [1, 0x09]),
      let packedSize = rest.popSevenZipNumber()
    else { return nil }
    // The packed stream may have a checksum too.
    if Self.take(&rest, [0x0A, 1]) {
      guard rest.count >= 4 else { return nil }
      rest = rest.dropFirst(4)
    }
    guard Self.take(&rest, [0x00, 0x07, 0x0B, 1, 0, 1, 0x23, 3, 1, 1, 5]), rest.count >= 5 else { return nil }
    properties = rest.prefix(5)
    rest = rest.dropFirst(5)
    guard Self.take(&rest, [0x0C]), let size = rest.popSevenZipNumber(), Self.take(&rest, [0x0A, 1]),
      rest.count >= 4
    else { return nil }
    self.offset = offset
    self.packedSize = packedSize
    self.size = size
    check = rest.little(at: 0)
  }

  /// The decoded header; nil if it cannot be decoded.
  func decode(_ packed: [UInt8]) -> [UInt8]? {
    LZMAStream(properties: properties, size: size).decode(packed[...])
  }

  private static func take(_ rest: inout ArraySlice<UInt8>, _ bytes: [UInt8]) -> Bool {
    guard rest.starts(with: bytes) else { return false }
    rest = rest.dropFirst(bytes.count)
    return true
  }
}
