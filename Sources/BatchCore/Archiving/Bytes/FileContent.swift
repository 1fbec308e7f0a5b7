import BatchEngine

/// The content of an archive file from its beginning. Compressed files are decoded here, so that every checksum of the
/// compression is compared.
final class FileContent: ArchiveContent {
  private static let pieceSize = 256 << 10

  /// The compression of the file; nil if it has none, or an unknown one.
  private(set) var format: CompressionFormat?
  /// The damage that ended the decoding.
  private(set) var damage: CompressionDamage?
  private(set) var bytesRead: UInt64 = 0
  private(set) var garbage: TrailingGarbage?
  private(set) var length: UInt64?
  private(set) var streamCheck: StreamCheck?

  private let source: ArchiveFile
  private var end: UInt64
  private let stream: ArchiveStream?
  private let buffer: ScratchBuffer
  private var rest: UnsafeRawBufferPointer
  private var position: UInt64 = 0
  /// The highest position so far.
  private var furthest: UInt64 = 0
  private var decoder: StreamDecoder?
  private var isAtEnd = false
  /// Whether no content was decoded.
  private var isAtStart = true

  /// Reads the first bytes, enough to detect the format.
  ///
  /// - Parameter end: bytes from here on are not read.
  init(_ file: ArchiveFile, upTo end: UInt64? = nil, by right: ReadingRight) throws(BatchError) {
    source = file
    self.end = end ?? .max
    buffer = try ScratchBuffer(capacity: Self.pieceSize)
    rest = UnsafeRawBufferPointer(rebasing: buffer.room[..<0])
    let stream = file.size == nil ? file.stream : nil
    self.stream = stream
    var filled = 0
    while filled < CompressionFormat.detectionLength {
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer.room[filled...])
      let count = try Self.read(file, stream, at: UInt64(filled), upTo: self.end, into: room)
      if count == 0 { break }
      filled += count
    }
    let start = UnsafeRawBufferPointer(rebasing: buffer.room[..<filled])
    guard filled > 0 else { throw BatchError(.malformed, "empty: no archive at all", path: file.path) }
    if AgeKeys.areNeeded(for: start) { throw AgeKeys.missing(file.path) }
    if let format = CompressionFormat.detect(start, named: file.path) {
      self.format = format
      let decoder = try format.makeDecoder(file.decoding, by: right)
      decoder.reset(isHasty: file.size.map { $0 >= FileDecoder.hasteThreshold } ?? true)
      self.decoder = decoder
      length = nil
    } else {
      length = file.size.map { min($0, end ?? $0) }
      if stream != nil {
        streamCheck = StreamCheck(
          value: ArchiveFrame.check(of: start), memory: Int(clamping: file.decoding.memoryLimit))
      }
    }
    rest = start
    position = UInt64(filled)
    bytesRead = UInt64(filled)
  }

  /// Shortens the content to an offset. Called before ``next()``.
  func cut(at place: UInt64) {
    guard let length, place < length, position == UInt64(rest.count) else { return }
    self.length = place
    end = place
    rest = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(clamping: place)))
    position = UInt64(rest.count)
  }

  var foreignFormats: ForeignFormats { source.foreignFormats }

  var file: ArchiveFile? { length == nil ? nil : source }

  /// The first bytes of the file on disk. Read before ``next()`` is called.
  var start: UnsafeRawBufferPointer { rest }

  func next() throws(BatchError) -> UnsafeRawBufferPointer {
    guard let decoder else {
      if rest.isEmpty { try refill() }
      defer { rest = UnsafeRawBufferPointer(rebasing: rest[rest.endIndex...]) }
      return rest
    }
    if isAtStart {
      isAtStart = false
      if let content = try whole(decoder), !content.isEmpty { return content }
    }
    while true {
      try source.probe.check()
      if let content = try step(decoder), !content.isEmpty { return content }
      guard rest.isEmpty else { continue }
      if isAtEnd { return rest }
      try refill()
      if rest.isEmpty {
        isAtEnd = true
        try noting { () throws(DecodingError) in try decoder.finish() }
      }
    }
  }

  func seek(to offset: UInt64) {
    position = offset
    rest = UnsafeRawBufferPointer(rebasing: rest[rest.endIndex...])
  }

  /// The content of a small gzip file that was read as a whole; nil if it must be decoded in steps.
  private func whole(_ decoder: StreamDecoder) throws(BatchError) -> UnsafeRawBufferPointer? {
    guard format == .gz, source.size == UInt64(rest.count), position == UInt64(rest.count) else { return nil }
    var content: UnsafeRawBufferPointer?
    try noting { () throws(DecodingError) in content = try decoder.content(ofWhole: rest) }
    if content != nil { rest = UnsafeRawBufferPointer(rebasing: rest[rest.endIndex...]) }
    return content
  }

  private func step(_ decoder: StreamDecoder) throws(BatchError) -> UnsafeRawBufferPointer? {
    var content: UnsafeRawBufferPointer?
    // Even without input: a full buffer may have left content inside the decoder.
    try noting { () throws(DecodingError) in
      let step = try decoder.step(rest)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(step.consumed))
      content = step.content
    }
    return content
  }

  private func noting(_ body: () throws(DecodingError) -> Void) throws(BatchError) {
    let found: CompressionDamage?
    do throws(BatchError) {
      found = try FileDecoder.damage(body)
    } catch {
      throw error.path == nil ? error.at(source.path) : error
    }
    guard let damage = found else { return }
    // Garbage that gunzip and bunzip2 skip with a warning does not make the content before it damaged.
    if damage.kind == .garbageAfterEnd, let format, format.codec.garbage != .damage {
      isAtEnd = true
      garbage = format.codec.garbage
      rest = UnsafeRawBufferPointer(rebasing: rest[rest.endIndex...])
      return
    }
    if let decoder, decoder.isHasty, source.size != nil {
      // The default library decides what is damaged: it decodes again and skips the content that was already returned.
      decoder.reset(leavingOut: decoder.plainCount)
      (position, bytesRead, isAtEnd) = (0, 0, false)
      rest = UnsafeRawBufferPointer(rebasing: rest[rest.endIndex...])
      return
    }
    self.damage = damage
    // Which bytes are wrong is not known: a checksum is compared at the end of a frame, which may have many members.
    let extent = damage.kind == .checksum ? "; members before this place may be wrong too" : ""
    throw BatchError(.malformed, damage.message + extent, path: source.path)
  }

  private static func read(
    _ file: ArchiveFile, _ stream: ArchiveStream?, at offset: UInt64, upTo end: UInt64,
    into room: UnsafeMutableRawBufferPointer
  ) throws(BatchError) -> Int {
    guard let stream else {
      let count = Int(clamping: end - min(offset, end))
      return try file.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: room.prefix(count)))
    }
    do throws(BatchError) {
      return try stream.read(into: room)
    } catch {
      throw error.path == nil && error.code != .cancelled ? error.at(file.path) : error
    }
  }

  private func refill() throws(BatchError) {
    let count = try Self.read(source, stream, at: position, upTo: end, into: buffer.room)
    rest = UnsafeRawBufferPointer(rebasing: buffer.room[..<count])
    position += UInt64(count)
    bytesRead += UInt64(count)
    if let check = streamCheck?.value { streamCheck?.value = ArchiveFrame.check(of: rest, after: check) }
    guard case .here(let progress) = source.foreignFormats, position > furthest else { return }
    furthest = position
    progress()
  }
}

/// A file whose parts are available only after they were fetched. Used by several threads at once.
protocol PartialFile: Sendable {
  /// For messages.
  var path: PathBytes { get }
  /// The size of the whole file in bytes.
  var size: UInt64 { get }
  /// Its descriptor, valid as long as this value exists.
  var raw: Int32 { get }

  /// Returns when a part is available. Bytes beyond the end are ignored.
  ///
  /// - Throws: why it is unavailable.
  func fetch(at offset: UInt64, count: Int) throws(BatchError)
}
