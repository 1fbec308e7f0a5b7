import BatchEngine

/// Decodes compressed files on one lane; parts of large ones on all cores.
final class FileDecoder {
  /// Files of at least this size are decoded by the fastest library, which takes some time to open.
  static let hasteThreshold: Int64 = 1 << 20

  let options: DecoderOptions
  let budget: PartBudget
  /// Parts that may be decoded at once; nil for the concurrency of the run.
  let width: Int?
  /// Bytes of the last decoded stream.
  private(set) var inputSize: Int64 = 0
  private var decoders: [CompressionFormat: StreamDecoder] = [:]

  /// - Parameters:
  ///   - budget: shared by the lanes of a run.
  ///   - width: parts that may be decoded at once; nil for the concurrency of the run.
  init(_ options: DecoderOptions, _ budget: PartBudget, width: Int? = nil) {
    self.options = options
    self.budget = budget
    self.width = width
  }

  enum Outcome {
    case decoded(CompressionFormat, isStable: Bool, checkGap: CheckGap?)
    /// The format is nil if the content has no known format.
    case damaged(CompressionDamage, in: CompressionFormat?)
    /// Its content is in a known format that is not decoded.
    case unsupported(UnsupportedFormat)
    /// The file could not be read, which has been reported.
    case unreadable
  }

  /// The state of decoding one file.
  private struct Passage {
    let path: PathBytes
    /// The size of the file in bytes; nil if unknown.
    var size: Int64?
    /// Whether damage must be confirmed by decoding again.
    var isHasty = false
    /// Bytes of content that were already passed on.
    var delivered: UInt64 = 0
    var decoder: StreamDecoder?
    var damage: CompressionDamage?
    /// The format of the content, if it is one that is not decoded.
    var unsupported: UnsupportedFormat?

    var hasBegun: Bool { decoder != nil || damage != nil }
  }

  /// Decodes a file from its beginning to its end.
  ///
  /// - Parameters:
  ///   - restart: called with the open file and its status before the content, and again when reading starts over.
  ///   - sink: receives the content in order.
  /// - Throws: the errors of `restart` and `sink`, and an error that ends the run.
  func decode(
    _ record: FileRecord, in context: WorkerContext, restart: (Int32, FileStatus) throws(BatchError) -> Void,
    sink: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> Outcome {
    // The content of parts before a damaged one is passed on only once.
    var delivered: UInt64 = 0
    if let outcome = try decodeParts(record, in: context, restart: restart, delivered: &delivered, sink: sink)
    {
      return outcome
    }
    var passage = Passage(path: record.path)
    let read = try context.read(record, isCounted: false) {
      (file: borrowing Descriptor, status) throws(BatchError) in
      passage = Passage(path: record.path, size: status.size)
      passage.isHasty = delivered == 0 && status.size >= Self.hasteThreshold
      passage.delivered = status.hasSameContent(as: record.status) ? delivered : 0
      delivered = 0
      if passage.delivered == 0 { try restart(file.raw, status) }
    } consume: { (piece) throws(BatchError) in
      try pass(piece, on: &passage, context, sink)
    }
    guard let read else { return .unreadable }
    let outcome = try outcome(of: passage, isStable: read.isStable)
    guard case .damaged(let damage, _) = outcome, damage.kind != .garbageAfterEnd, read.isStable,
      let decoder = passage.decoder, decoder.isHasty
    else { return outcome }
    return try confirmed(record, read.status, handedOut: decoder.plainCount, in: context, sink: sink)
      ?? outcome
  }

  /// Decodes a file again with the default library, after the fastest library has found damage. The default library decides.
  ///
  /// - Returns: nil when the file was replaced.
  private func confirmed(
    _ record: FileRecord, _ status: FileStatus, handedOut count: UInt64, in context: WorkerContext,
    sink: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> Outcome? {
    var passage = Passage(path: record.path)
    var failure: BatchError?
    let read = try context.reread(record) {
      passage = Passage(path: record.path, delivered: count)
    } consume: { (piece) throws(BatchError) in
      do throws(BatchError) {
        try pass(piece, on: &passage, context, sink)
      } catch {
        failure = error
        throw error
      }
    }
    if let failure { throw failure }
    guard let read, read.isStable, read.status.hasSameContent(as: status) else { return nil }
    return try outcome(of: passage, isStable: true)
  }

  /// Decodes standard input from its beginning to its end.
  ///
  /// - Throws: as ``decode(_:in:restart:sink:)``.
  func decodeStandardInput(
    in context: WorkerContext, sink: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> Outcome {
    var passage = Passage(path: "-", isHasty: true)
    var start = [UInt8]()
    inputSize = 0
    do throws(BatchError) {
      let isRead = try context.readStandardInput(isCounted: false) { (piece) throws(BatchError) in
        inputSize += Int64(piece.count)
        if passage.hasBegun {
          try pass(piece, on: &passage, context, sink)
        } else {
          // One read of a pipe may return too few bytes to detect the format.
          start.append(contentsOf: piece)
          guard start.count >= CompressionFormat.detectionLength else { return }
          try withBytes(of: start) { (raw) throws(BatchError) in try pass(raw, on: &passage, context, sink) }
        }
        // Ends the reading: the stream may be endless.
        if passage.damage != nil { throw BatchError(.malformed, "damaged", path: "-") }
      }
      guard isRead else { return .unreadable }
    } catch {
      guard passage.damage != nil else { throw error }
    }
    if !passage.hasBegun, !start.isEmpty {
      try withBytes(of: start) { (raw) throws(BatchError) in try pass(raw, on: &passage, context, sink) }
    }
    return try outcome(of: passage, isStable: true)
  }

  /// The format of a file that is not decoded, by its first bytes and by its name.
  ///
  /// - Returns: nil also if the file cannot be read.
  func unsupportedFormat(of record: FileRecord, in context: WorkerContext) -> UnsupportedFormat? {
    var start = [UInt8](
      repeating: 0, count: Int(min(Int64(CompressionFormat.detectionLength), max(0, record.status.size))))
    guard (try? Self.fill(&start, from: 0, of: record, in: context)) != nil else { return nil }
    if let format = UnsupportedFormat.detect(start) { return format }
    return CompressionFormat.detect(start) == nil ? UnsupportedFormat.claimed(by: record.path) : nil
  }

  private func pass(
    _ piece: UnsafeRawBufferPointer, on passage: inout Passage, _ context: WorkerContext,
    _ sink: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) {
    guard passage.damage == nil else { return }
    if passage.decoder == nil {
      guard let format = CompressionFormat.detect(piece, named: passage.path) else {
        passage.damage = CompressionDamage(.notCompressed, offset: 0, goodBytes: 0)
        passage.unsupported = UnsupportedFormat.detect(piece)
        return
      }
      let decoder = try decoder(for: format, by: context.reading)
      decoder.reset(isHasty: passage.isHasty, leavingOut: passage.delivered)
      passage.decoder = decoder
      if format == .gz, Int64(piece.count) == passage.size {
        var isDone = false
        passage.damage = try Self.damage { () throws(DecodingError) in
          isDone = try decoder.decode(atOnce: piece) { (content) throws(BatchError) in
            try context.checkCancellation()
            try sink(content)
          }
        }
        if isDone { return }
      }
    }
    let decoder = passage.decoder
    passage.damage = try Self.damage { () throws(DecodingError) in
      try decoder?.decode(piece) { (content) throws(BatchError) in
        // One piece may decode to gigabytes of zeros.
        try context.checkCancellation()
        try sink(content)
      }
    }
  }

  private func outcome(of passage: Passage, isStable: Bool) throws(BatchError) -> Outcome {
    if let unsupported = passage.unsupported { return .unsupported(unsupported) }
    if let damage = passage.damage { return .damaged(damage, in: passage.decoder?.format) }
    guard let decoder = passage.decoder else {
      return .damaged(CompressionDamage(.truncated, offset: 0, goodBytes: 0), in: nil)
    }
    if let damage = try Self.damage({ () throws(DecodingError) in try decoder.finish() }) {
      return .damaged(damage, in: decoder.format)
    }
    return .decoded(decoder.format, isStable: isStable, checkGap: decoder.checkGap)
  }

  static func fill(
    _ bytes: inout [UInt8], from offset: UInt64, of record: FileRecord, in context: WorkerContext
  ) throws(BatchError) {
    try withMutableBytes(of: &bytes) { (raw) throws(BatchError) in
      try context.read(record, ranges: [offset..<(offset + UInt64(raw.count))], into: raw)
    }
  }

  private func decoder(
    for format: CompressionFormat, by right: ReadingRight
  ) throws(BatchError) -> StreamDecoder {
    if let known = decoders[format] { return known }
    let decoder = try format.makeDecoder(options, by: right)
    decoders[format] = decoder
    return decoder
  }

  /// The damage that `body` found; other errors are rethrown.
  static func damage(_ body: () throws(DecodingError) -> Void) throws(BatchError) -> CompressionDamage? {
    do throws(DecodingError) {
      try body()
      return nil
    } catch {
      switch error {
      case .damaged(let damage): return damage
      case .failed(let error): throw error
      }
    }
  }
}
