import CZstd

/// The member index of an archive while members are added to it.
///
/// The table of frames stands before the members and is known last; so the members wait, compressed, since a
/// million of them would take more memory than all the rest.
///
/// | bytes | |
/// |---|---|
/// | `BPIDX002` | |
/// | u64, u64, u64 | how many members, the bytes of all files, how many frames |
/// | 4 × u64, u32 for each frame | offset and size in the archive, offset and size of the plain content, CRC-32 of the frame as it is in the archive |
/// | for each member | u32 length of the path, the path, u8 type flag of tar, u64 size, i64 seconds and u32 nanoseconds of its time, u32 frame, u64 offset of its headers in the frame's plain content, u32 their length, u8 1 or 0: whether it has a digest |
/// | 32 bytes | SHA-256 of the checks |
/// | 32 bytes | SHA-256 of everything before |
///
/// Numbers are little-endian. What is stored is this table as a frame of zstd; then the checks, which are of each
/// member the CRC-32 of its headers as u32, then of each that has one its SHA-256; then the length of the frame as
/// u64 and its CRC-32 as u32. Checks do not shrink, are more than all the rest, and mostly nobody asks for them.
final class MemberIndexBuilder {
  /// Members wait in pieces of about this many bytes.
  private static let pieceSize = 1 << 20
  private static let level = 3

  private var count: UInt64 = 0
  private var fileBytes: UInt64 = 0
  private var current: [UInt8] = []
  private var headerChecks: [UInt8] = []
  private var digests: [UInt8] = []
  private var pieces: [(bytes: [UInt8], plainSize: Int)] = []
  private let compressor: ZstdContext

  /// - Throws: `exhausted` when memory is missing.
  init() throws(BatchError) {
    compressor = try ZstdContext(level: 1)
  }

  func add(_ member: ArchivedMember, frame: UInt32) throws(BatchError) {
    count += 1
    fileBytes &+= member.kind == .file ? member.size : 0
    current.appendLittleEndian(UInt32(truncatingIfNeeded: member.path.bytes.count))
    current += member.path.bytes
    current.append(member.kind.typeFlag)
    current.appendLittleEndian(member.size)
    current.appendLittleEndian(member.modified.seconds)
    current.appendLittleEndian(UInt32(truncatingIfNeeded: member.modified.nanoseconds))
    current.appendLittleEndian(frame)
    current.appendLittleEndian(member.offset)
    current.appendLittleEndian(member.header.size)
    headerChecks.appendLittleEndian(member.header.check)
    current.append(member.digest == nil ? 0 : 1)
    if let digest = member.digest { digests += digest.bytes }
    guard current.count >= Self.pieceSize else { return }
    var bytes: [UInt8] = []
    try withBytes(of: current) { (raw) throws(BatchError) in
      try compressor.compress(wholeFile: raw, into: &bytes)
    }
    pieces.append((bytes, current.count))
    current.removeAll(keepingCapacity: true)
  }

  /// The index as it is stored.
  func finish(_ frames: [FramePlace]) throws(BatchError) -> [UInt8] {
    let output = try IndexCompressor(level: Self.level, plainSize: plainSize(frameCount: frames.count))
    var head = MemberIndex.magic
    for number in [count, fileBytes, UInt64(frames.count)] { head.appendLittleEndian(number) }
    try output.append(head)
    head.removeAll(keepingCapacity: true)
    for frame in frames {
      for number in [frame.offset, frame.size, frame.plainOffset, frame.plainSize] {
        head.appendLittleEndian(number)
      }
      head.appendLittleEndian(frame.check)
      if head.count >= Self.pieceSize {
        try output.append(head)
        head.removeAll(keepingCapacity: true)
      }
    }
    try output.append(head)
    for piece in pieces { try output.append(Self.decompressed(piece.bytes, size: piece.plainSize)) }
    pieces = []
    try output.append(current)
    current = []
    try output.append(digestOfChecks())
    var stored = try output.finish()
    let length = UInt64(stored.count)
    let check = try withBytes(of: stored) { (raw) throws(BatchError) in ArchiveFrame.check(of: raw) }
    // Growing would hold the checks twice for a moment.
    stored.reserveCapacity(stored.count + headerChecks.count + digests.count + MemberIndex.trailerSize)
    stored += headerChecks
    stored += digests
    headerChecks = []
    digests = []
    stored.appendLittleEndian(length)
    stored.appendLittleEndian(check)
    return stored
  }

  private func plainSize(frameCount: Int) -> UInt64 {
    let members = pieces.reduce(current.count) { $0 + $1.plainSize }
    return UInt64(MemberIndex.magic.count + 3 * 8 + frameCount * 36 + members + 2 * 32)
  }

  private func digestOfChecks() throws(BatchError) -> [UInt8] {
    let stream = try DigestStream(.sha256)
    for part in [headerChecks, digests] {
      try withBytes(of: part) { (raw) throws(BatchError) in try stream.update(raw) }
    }
    return try stream.finish().bytes
  }

  private static func decompressed(_ bytes: [UInt8], size: Int) throws(BatchError) -> [UInt8] {
    var plain: [UInt8] = []
    try plain.append(upTo: size) { room throws(BatchError) in
      let count = ZSTD_decompress(room, size, bytes, bytes.count)
      guard ZSTD_isError(count) == 0 else { throw .noCodecMemory }
      return count
    }
    return plain
  }
}

/// Compresses the index as it comes, and ends it with its digest.
private final class IndexCompressor {
  private let context: OpaquePointer
  private let digest: DigestStream
  private var output: [UInt8] = []

  init(level: Int, plainSize: UInt64) throws(BatchError) {
    guard let context = ZSTD_createCCtx() else { throw .noCodecMemory }
    self.context = context
    digest = try DigestStream(.sha256)
    let results = [
      ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, Int32(level)),
      ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1),
      ZSTD_CCtx_setPledgedSrcSize(context, plainSize),
    ]
    guard results.allSatisfy({ ZSTD_isError($0) == 0 }) else { throw .noCodecMemory }
  }

  deinit {
    ZSTD_freeCCtx(context)
  }

  func append(_ bytes: [UInt8]) throws(BatchError) {
    try withBytes(of: bytes) { (raw) throws(BatchError) in
      try digest.update(raw)
      try compress(raw, ZSTD_e_continue)
    }
  }

  func finish() throws(BatchError) -> [UInt8] {
    let end = try digest.finish().bytes
    try withBytes(of: end) { (raw) throws(BatchError) in try compress(raw, ZSTD_e_end) }
    return output
  }

  private func compress(_ bytes: UnsafeRawBufferPointer, _ directive: ZSTD_EndDirective) throws(BatchError) {
    var source = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
    var left = 1
    while source.pos < source.size || (directive == ZSTD_e_end && left > 0) {
      let capacity = ZSTD_CStreamOutSize()
      try output.append(upTo: capacity) { room throws(BatchError) in
        var target = ZSTD_outBuffer(dst: room, size: capacity, pos: 0)
        left = ZSTD_compressStream2(context, &target, &source, directive)
        guard ZSTD_isError(left) == 0 else { throw .noCodecMemory }
        return target.pos
      }
    }
  }
}
