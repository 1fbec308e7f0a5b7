import BatchEngine

/// Builds the member index of an archive: version 4, as described in docs/formats.md.
///
/// Each page is compressed when it is full, so that little work is left at the end, and a million members take little memory.
/// Digests and header checksums do not compress, are most of the index, and are rarely needed: they follow it uncompressed.
final class MemberIndexBuilder {
  private var count: UInt64 = 0
  private var fileBytes: UInt64 = 0
  private var page = MemberPageBuilder()
  /// The stored (compressed) pages.
  private var stored: [UInt8] = []
  /// For each page: its stored size, its decoded size, its number of members, and its number of digests.
  private var pages: [UInt8] = []
  private var pageCount: UInt64 = 0
  private var pageDigests: UInt32 = 0
  private var headerChecks = BytePieces()
  private var digests = BytePieces()
  private let compressor: ZstdContext

  /// - Throws: `exhausted` when memory is missing.
  init() throws(BatchError) {
    compressor = try ZstdContext(level: 1)
  }

  func add(_ member: ArchivedMember, frame: UInt32) throws(BatchError) {
    count += 1
    fileBytes &+= member.kind == .file ? member.size : 0
    page.add(member, frame: frame)
    headerChecks.append { $0.appendLittleEndian(member.header?.check ?? 0) }
    if let digest = member.digest {
      digests.append { $0 += digest.bytes }
      pageDigests += 1
    }
    if page.isFull { try storePage() }
  }

  /// The stored index, as pieces in memory.
  func finish(_ frames: [MemberIndex.Frame]) throws(BatchError) -> IndexExtent {
    if page.count > 0 { try storePage() }
    let pagesLength = stored.count
    try store(head(frames))
    var lengths: [UInt8] = []
    lengths.appendLittleEndian(UInt64(pagesLength))
    lengths.appendLittleEndian(UInt64(stored.count - pagesLength))
    let digest = try Self.digest(of: [stored, lengths])
    return IndexExtent([stored] + headerChecks.pieces + digests.pieces + [lengths + digest.bytes])
  }

  private func head(_ frames: [MemberIndex.Frame]) throws(BatchError) -> [UInt8] {
    var head = MemberIndex.magic
    for number in [count, fileBytes, UInt64(frames.count), pageCount] { head.appendLittleEndian(number) }
    for frame in frames {
      for number in [
        frame.compressed.lowerBound, frame.compressedSize, frame.plain.lowerBound, frame.plainSize,
      ] { head.appendLittleEndian(number) }
      head.appendLittleEndian(frame.check ?? 0)
    }
    return head + pages + (try Self.digest(of: headerChecks.pieces + digests.pieces)).bytes
  }

  private func storePage() throws(BatchError) {
    let (count, size, start) = (page.count, page.size, stored.count)
    try store(page.take())
    pages.appendLittleEndian(UInt64(stored.count - start))
    pages.appendLittleEndian(UInt64(size))
    pages.appendLittleEndian(UInt32(count))
    pages.appendLittleEndian(pageDigests)
    pageCount += 1
    pageDigests = 0
  }

  private func store(_ plain: [UInt8]) throws(BatchError) {
    try withBytes(of: plain) { (raw) throws(BatchError) in
      try compressor.compress(wholeFile: raw, into: &stored)
    }
  }

  static func digest(of pieces: [[UInt8]]) throws(BatchError) -> Digest {
    let digest = try DigestStream(.sha256)
    for piece in pieces {
      try withBytes(of: piece) { (raw) throws(BatchError) in try digest.update(raw) }
    }
    return try digest.finish()
  }
}

/// A growing sequence of bytes in pieces. A single array would be copied each time that it is full.
private struct BytePieces {
  private static let size = 1 << 20

  private(set) var pieces: [[UInt8]] = []

  /// - Parameter body: appends a few bytes to the last piece.
  mutating func append(_ body: (inout [UInt8]) -> Void) {
    if pieces.last.map({ $0.count >= Self.size }) ?? true { pieces.append([]) }
    body(&pieces[pieces.count - 1])
  }
}
