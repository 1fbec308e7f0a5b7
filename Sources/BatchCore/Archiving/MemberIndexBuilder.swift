/// The member index of an archive while members are added to it.
///
/// | bytes | |
/// |---|---|
/// | frames of zstd | the pages: the members, as ``MemberPage`` has them |
/// | a frame of zstd | the head |
/// | u32 for each member | CRC-32 of its headers |
/// | 32 bytes for each member that has one | SHA-256 of its content |
/// | u64, u64 | the lengths of all pages and of the head, as they are stored |
/// | 32 bytes | SHA-256 of pages, head and these lengths |
///
/// The head:
///
/// | bytes | |
/// |---|---|
/// | `BPIDX003` | |
/// | u64, u64, u64 | how many members, the bytes of all files, how many frames |
/// | 4 × u64, u32 for each frame | offset and size in the archive, offset and size of the plain content, CRC-32 of the frame as it is in the archive |
/// | 32 bytes | SHA-256 of the checks, which are the numbers and digests behind the head |
///
/// Numbers are little-endian. Checks do not shrink, are more than all the rest, and mostly nobody asks for them. Pages
/// are compressed as they fill, so that little is left to be done at the end, and a million members take little memory.
final class MemberIndexBuilder {
  private var count: UInt64 = 0
  private var fileBytes: UInt64 = 0
  private var page = MemberPageBuilder()
  /// The pages as they are stored.
  private var stored: [UInt8] = []
  private var headerChecks: [UInt8] = []
  private var digests: [UInt8] = []
  private let compressor: ZstdContext

  /// - Throws: `exhausted` when memory is missing.
  init() throws(BatchError) {
    compressor = try ZstdContext(level: 1)
  }

  func add(_ member: ArchivedMember, frame: UInt32) throws(BatchError) {
    count += 1
    fileBytes &+= member.kind == .file ? member.size : 0
    page.add(member, frame: frame)
    headerChecks.appendLittleEndian(member.header.check)
    if let digest = member.digest { digests += digest.bytes }
    if page.isFull { try store(page.take()) }
  }

  /// The index as it is stored.
  func finish(_ frames: [FramePlace]) throws(BatchError) -> [UInt8] {
    if page.count > 0 { try store(page.take()) }
    let pagesLength = stored.count
    try store(head(frames))
    var lengths: [UInt8] = []
    lengths.appendLittleEndian(UInt64(pagesLength))
    lengths.appendLittleEndian(UInt64(stored.count - pagesLength))
    let digest = try Self.digest(of: stored, lengths)
    // Growing would hold the checks twice for a moment.
    stored.reserveCapacity(stored.count + headerChecks.count + digests.count + MemberIndex.trailerSize)
    stored += headerChecks
    stored += digests
    headerChecks = []
    digests = []
    stored += lengths
    stored += digest.bytes
    return stored
  }

  private func head(_ frames: [FramePlace]) throws(BatchError) -> [UInt8] {
    var head = MemberIndex.magic
    for number in [count, fileBytes, UInt64(frames.count)] { head.appendLittleEndian(number) }
    for frame in frames {
      for number in [frame.offset, frame.size, frame.plainOffset, frame.plainSize] {
        head.appendLittleEndian(number)
      }
      head.appendLittleEndian(frame.check)
    }
    return head + (try Self.digest(of: headerChecks, digests)).bytes
  }

  private func store(_ plain: [UInt8]) throws(BatchError) {
    try withBytes(of: plain) { (raw) throws(BatchError) in
      try compressor.compress(wholeFile: raw, into: &stored)
    }
  }

  /// Of two pieces, one behind the other.
  static func digest(of first: [UInt8], _ second: [UInt8]) throws(BatchError) -> Digest {
    let digest = try DigestStream(.sha256)
    for piece in [first, second] {
      try withBytes(of: piece) { (raw) throws(BatchError) in try digest.update(raw) }
    }
    return try digest.finish()
  }
}
