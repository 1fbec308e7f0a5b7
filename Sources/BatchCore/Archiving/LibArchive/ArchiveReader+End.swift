import BatchEngine
import CArchive

extension ArchiveReader {
  static let moreRemark = "there are bytes after the end of the archive, which are not read"
  static let oldBytesRemark =
    "the rest of its last record has other bytes, which are no further members; older programs leave their buffer there"
  static let garbageRemark = "there are bytes after the end of the compressed data, which are not read"
  static let loneBlockRemark = "of the two blocks that end the archive one is missing"
  static let emptyRemark = "it has no members"
  static let uncheckedRemark =
    "contents may be wrong: the member index cannot be used, and without compression nothing else has their checksums"

  /// Reads the bytes after the archive, so that all checksums of the compression are compared and nothing is skipped silently.
  ///
  /// - Throws: `malformed` if bytes cannot be decoded, or if an archive has no members but must have some.
  func drain() throws(BatchError) {
    if let failure = feed.failure { throw failure }
    var start = [UInt8]()
    let hasMore = try drainContent(&start)
    // A compressed ISO image is recognized only here.
    let image = start.count == UnsupportedFormat.isoLength ? UnsupportedFormat.detect(start) : nil
    let difference = claim.name?.difference(claim.compression, base)
    if let difference, hasMembers { remarks.append(difference) }
    guard !hasMembers else {
      if hasMore || feed.content.garbage == .failure {
        remarks.append(Self.moreRemark)
      } else if feed.content.garbage != nil {
        remarks.append(Self.garbageRemark)
      }
      return
    }
    // Zeros read as a tar without members, and a lost first block may read as zeros.
    if hasMore || feed.content.garbage != nil {
      if let image { throw BatchError(.unsupported, image.message, path: name, remedy: .readAllFormats) }
      throw BatchError(.malformed, "damaged: it begins with zeros and has content after them", path: name)
    }
    if let difference {
      throw BatchError(.malformed, "damaged: it has no members: \(difference)", path: name)
    }
    if requiresMembers {
      throw BatchError(.malformed, "damaged: it has an index and no members", path: name)
    }
    remarks.append(Self.emptyRemark)
  }

  /// - Parameter first: gets the first bytes of content that reads as a tar without members, for the detection of an ISO image.
  /// - Returns: whether there are bytes after the end of the archive, other than those that POSIX allows.
  private func drainContent(_ first: inout [UInt8]) throws(BatchError) -> Bool {
    let isFile = feed.content.length != nil
    // In zip and 7z the directory locates the end.
    let endsWithZeros = isTar || base == ARCHIVE_FORMAT_CPIO
    guard !isFile || endsWithZeros else { return false }
    var trailing = TailBytes(of: isTar ? position : nil)
    let start = feed.rest(from: position)
    if endsWithZeros { start.withUnsafeBytes { trailing.add($0) } }
    // All bytes so far were zeros.
    if !hasMembers { first = [UInt8](repeating: 0, count: Int(clamping: min(position, 1 << 16))) + start }
    var tail: StreamedTail? = isTar ? feed.content.streamCheck.map { StreamedTail($0, start) } : nil
    // Uncompressed content has no checksums, and may be long.
    while !isFile || !trailing.isSurelyMore {
      let piece = try feed.content.next()
      if piece.isEmpty { break }
      if endsWithZeros { trailing.add(piece) }
      if !first.isEmpty, first.count < UnsupportedFormat.isoLength { first += piece }
      if trailing.isSurelyNoIndex { tail = nil } else { tail?.add(piece) }
    }
    first = Array(first.prefix(UnsupportedFormat.isoLength))
    let isOld = trailing.isRestOfRecord ? true : try isRepeated(trailing)
    if isOld, hasMembers {
      remarks.append(Self.oldBytesRemark)
      return false
    }
    if trailing.isMore { return true }
    let remark = try feed.content.streamCheck.flatMap { (check) throws(BatchError) in
      try tail?.compare(check.value, at: position, name)
    }
    if let remark { remarks.append(remark) }
    return false
  }
}

extension ArchiveReader {
  /// Whether the rest of the last record repeats the bytes of the record before. The writer left them in its buffer, and their
  /// members were read before.
  private func isRepeated(_ trailing: TailBytes) throws(BatchError) -> Bool {
    guard let rest = trailing.restOfRecord, let file = feed.content.file,
      position >= TailBytes.recordSize
    else { return false }
    return try file.bytes(at: position - TailBytes.recordSize, count: rest.count) == rest
  }
}

extension MemberReader {
  private static var damages: [String] { [ArchiveReader.moreRemark, ArchiveReader.uncheckedRemark] }

  /// Why members may be missing from an archive that was read to its end, or why their contents may be wrong. Zeros instead of
  /// a header end a tar, and members after them are not read.
  ///
  /// - Parameter hasContents: whether contents were read, too.
  func damages(_ name: PathBytes, hasContents: Bool = true) -> [BatchError] {
    Self.damages.filter { remarks.contains($0) && (hasContents || $0 != ArchiveReader.uncheckedRemark) }
      .map { BatchError(.malformed, "damaged: \($0)", path: name) }
  }

  /// Remarks that concern neither missing members nor contents.
  var harmlessRemarks: [String] { remarks.filter { !Self.damages.contains($0) } }
}

/// The bytes after the end blocks of an archive: zeros or old bytes that fill the last record of a tar, our index, or other data.
struct TailBytes {
  /// The size of the records in which tar writes its output, in bytes, unless another one is requested.
  static let recordSize: UInt64 = 10_240

  /// The length of the rest of the last record, whose bytes POSIX does not define; 0 if there is none.
  private let recordRest: Int
  private var record: [UInt8] = []
  private var count: UInt64 = 0
  private var hasContent = false
  private var first: [UInt8] = []
  private var last: [UInt8] = []

  /// - Parameter place: where these bytes begin in a tar; nil for other formats.
  init(of place: UInt64? = nil) {
    let past = (place ?? 0) % Self.recordSize
    recordRest = past == 0 ? 0 : Int(Self.recordSize - past)
  }

  mutating func add(_ piece: UnsafeRawBufferPointer) {
    if record.count < recordRest { record += piece.prefix(recordRest - record.count) }
    count += UInt64(piece.count)
    if !hasContent { hasContent = piece.contains { $0 != 0 } }
    if first.count < 4 { first += piece.prefix(4 - first.count) }
    if piece.count >= TailBlock.size {
      last = Array(piece.suffix(TailBlock.size))
    } else {
      last = Array((last + piece).suffix(TailBlock.size))
    }
  }

  /// Whether there is other data, regardless of the bytes that follow.
  var isSurelyMore: Bool { hasContent && isSurelyNoIndex && count > UInt64(recordRest) }

  /// Whether these are not the bytes of an index, regardless of the bytes that follow.
  var isSurelyNoIndex: Bool { first.count == 4 && !beginsAsIndex }

  /// These bytes, if they are other data that ends with the record.
  var restOfRecord: [UInt8]? { isMore && count == UInt64(recordRest) ? record : nil }

  /// Whether these bytes end with the record, and none of its blocks is the header of a member.
  var isRestOfRecord: Bool {
    guard let record = restOfRecord else { return false }
    return record.withUnsafeBytes { bytes in
      stride(from: bytes.count % TarBlock.size, to: bytes.count, by: TarBlock.size).allSatisfy {
        !TarHeaderScan.isHeader(bytes[$0..<($0 + TarBlock.size)])
      }
    }
  }

  /// Whether there is anything except zeros and an index.
  var isMore: Bool {
    guard hasContent else { return false }
    return !beginsAsIndex || TailBlock(last)?.tailLength != count
  }

  private var beginsAsIndex: Bool {
    var reader = LittleEndianReader(first[...])
    return reader.number(UInt32.self) == ZstdCodec.magic
  }
}
