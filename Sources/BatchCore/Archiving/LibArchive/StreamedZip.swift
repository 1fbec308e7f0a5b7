import BatchEngine

/// Compares the members of a streamed zip with the directory that follows them.
///
/// libarchive stops where the directory begins. A hash of name, method and CRC-32 of each member is summed up, in any order;
/// the sum over the directory must be equal.
struct StreamedZip {
  /// The sizes of a data descriptor, which follows the content of a member and is left unread when that is skipped.
  private static let descriptorSizes = [12, 16, 20, 24]
  /// The size of the mark of a split archive, which precedes the first header.
  private static let markSize = 4

  private var count = 0
  private var sum: UInt64 = 0
  /// The sum for members with backslashes that libarchive changed, and that separate folders as far as is known.
  private var changedSum: UInt64 = 0
  /// Whether a data descriptor follows the content of the last member.
  private var hasDescriptor = false

  private struct Header {
    let number: UInt64
    let hasDescriptor: Bool
    let isEmptyLZMA: Bool
    let name: [UInt8]
    let extra: [UInt8]
  }

  /// Adds the last member.
  ///
  /// - Returns: what its header says; nil if that is not in memory.
  /// - Throws: `malformed` when bytes before it were skipped.
  mutating func add(_ feed: ArchiveFeed, upTo end: UInt64) throws(BatchError) -> ZipMembers.Facts? {
    count += 1
    let header = try feed.withKeptBytes(upTo: end) { (headers) throws(BatchError) in
      try Self.header(in: headers)
    }
    guard let header else {
      hasDescriptor = false
      return nil
    }
    sum &+= header.number
    hasDescriptor = header.hasDescriptor
    let separates = ZipName.separate(byExtra: header.extra)
    if separates, ZipName.areChanged(in: header.name) { changedSum &+= header.number }
    return ZipMembers.Facts(
      hasMode: false, name: ZipName(header.name, extra: header.extra, separates: separates),
      isEmptyLZMA: header.isEmptyLZMA)
  }

  /// Reads the directory to the end of the stream.
  ///
  /// - Returns: what only the directory states, and whether bytes follow it.
  /// - Throws: `malformed` when it is missing, or contains other members than those that were read.
  func checkEnd(
    of feed: ArchiveFeed, from position: UInt64, name: PathBytes
  ) throws(BatchError) -> (losses: [BatchError], hasMore: Bool) {
    var rest = RestOfStream(feed, from: position)
    var entries = 0
    var entrySum: UInt64 = 0
    var entryChangedSum: UInt64 = 0
    var links = 0
    if hasDescriptor { try rest.passDescriptor(Self.descriptorSizes, name) }
    while try rest.begins(with: ZipEntry.signature) {
      let place = rest.position
      let entry = try ZipEntry(try rest.take(ZipEntry.fixedSize, name), at: place, path: name)
      let entryName = try rest.take(entry.nameSize, name)
      let number = entry.fields.number(named: entryName)
      entrySum &+= number
      let isChanged = entry.hasFoldersInBackslashes && ZipName.areChanged(in: entryName)
      if isChanged { entryChangedSum &+= number }
      _ = try rest.take(Int(entry.byteCount) - ZipEntry.fixedSize - entry.nameSize, name)
      entries += 1
      if entry.isSymbolicLink { links += 1 }
    }
    guard entries == count, entrySum == sum else {
      throw BatchError(
        .malformed,
        entries == count
          ? "damaged: its directory describes other members than the \(count) that were read"
          : "damaged: its directory names \(entries) members, and \(count) were read", path: name)
    }
    var losses = [BatchError]()
    if links > 0 {
      losses.append(
        Self.loss("symbolic links in a zip that is read as a stream (\(links)), they come out as files"))
    }
    if entryChangedSum != changedSum {
      losses.append(
        Self.loss(
          "backslashes between folders in a zip that is read as a stream, they come out as parts of names"))
    }
    return (losses, try rest.passZipEnd(entries, name))
  }

  private static func loss(_ text: String) -> BatchError {
    BatchError(.unsupported, "unsupported: \(text)", remedy: "give the archive as a file")
  }

  private static func header(
    in headers: UnsafeRawBufferPointer
  ) throws(BatchError) -> Header {
    for start in [0, markSize] + descriptorSizes where start + ZipLocalHeader.fixedSize <= headers.count {
      let fixed = Array(headers[start..<(start + ZipLocalHeader.fixedSize)])
      guard let header = ZipLocalHeader(fixed[...]) else { continue }
      let nameStart = start + ZipLocalHeader.fixedSize
      let nameEnd = nameStart + header.nameSize
      guard nameEnd <= headers.count else { break }
      let name = Array(headers[nameStart..<nameEnd])
      return Header(
        number: header.fields.number(named: name[...]), hasDescriptor: header.fields.isSizedAtEnd,
        isEmptyLZMA: header.fields.isEmptyLZMA, name: name,
        extra: Array(headers[nameEnd...].prefix(header.fields.extraSize)))
    }
    throw BatchError(.malformed, "damaged: no valid header where a member begins")
  }
}

/// The rest of a stream, after the offset where libarchive stopped.
private struct RestOfStream {
  private let feed: ArchiveFeed
  private var bytes: [UInt8]
  private var start = 0
  private(set) var position: UInt64

  init(_ feed: ArchiveFeed, from position: UInt64) {
    self.feed = feed
    self.position = position
    bytes = feed.rest(from: position)
  }

  mutating func begins(with signature: UInt32) throws(BatchError) -> Bool {
    try has(signature, after: 0)
  }

  /// Passes a data descriptor of one of these sizes if the directory follows it.
  mutating func passDescriptor(_ sizes: [Int], _ name: PathBytes) throws(BatchError) {
    guard try !begins(with: ZipEntry.signature) else { return }
    for size in sizes where try has(ZipEntry.signature, after: size) {
      _ = try take(size, name)
      return
    }
  }

  private mutating func has(_ signature: UInt32, after count: Int) throws(BatchError) -> Bool {
    guard try fill(count + 4) else { return false }
    return bytes[(start + count)..<(start + count + 4)].little(at: 0) == signature
  }

  mutating func take(_ count: Int, _ name: PathBytes) throws(BatchError) -> ArraySlice<UInt8> {
    guard count >= 0, try fill(count) else {
      throw BatchError(.malformed, "truncated: its directory is not complete", path: name)
    }
    defer {
      start += count
      position += UInt64(count)
    }
    return bytes[start..<(start + count)]
  }

  /// - Returns: whether something follows the records that end a zip.
  /// - Throws: `malformed` if other bytes follow.
  mutating func passZipEnd(_ entries: Int, _ name: PathBytes) throws(BatchError) -> Bool {
    if try begins(with: ZipEnd.largeSignature) { _ = try take(ZipEnd.largeSize, name) }
    if try begins(with: ZipEnd.locatorSignature) { _ = try take(ZipEnd.locatorSize, name) }
    let end = try take(ZipEnd.fixedSize, name)
    let count = end.little(at: 10) as UInt16
    guard end.little(at: 0) == ZipEnd.signature, count == .max || Int(count) == entries & 0xFFFF else {
      throw BatchError(.malformed, "damaged: the record that ends the zip is not valid", path: name)
    }
    _ = try take(Int(end.little(at: 20) as UInt16), name)
    return try fill(1)
  }

  /// - Returns: false when the stream ends earlier.
  private mutating func fill(_ count: Int) throws(BatchError) -> Bool {
    while bytes.count - start < count {
      bytes.removeFirst(start)
      start = 0
      let piece = try feed.content.next()
      if piece.isEmpty { return false }
      bytes.append(contentsOf: piece)
    }
    return true
  }
}
