import BatchEngine
import Dispatch
import Synchronization

/// Decodes compressed files on one lane; parts of large ones on all cores.
final class FileDecoder {
  /// Compressed files from this size on are looked through for parts.
  private static let partsThreshold: Int64 = 8 << 20
  /// Content of the parts that are decoded at a time, beside the first one.
  private static let windowSize: UInt64 = 64 << 20

  private let options: DecoderOptions
  private let budget: PartBudget
  /// Parts that may be decoded at once; nil for the concurrency of the run.
  private let width: Int?
  /// Bytes of the stream that was decoded last.
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

  /// What decoding a file came to.
  enum Outcome {
    case decoded(CompressionFormat, isStable: Bool, checkGap: CheckGap?)
    /// The format is nil where the content is in none.
    case damaged(CompressionDamage, in: CompressionFormat?)
    /// Its content is in a known format that is not decoded.
    case unsupported(UnsupportedFormat)
    /// It could not be read; that has been reported.
    case unreadable
  }

  /// A file on its way through the decoder of its format.
  private struct Passage {
    let path: PathBytes
    var decoder: StreamDecoder?
    var damage: CompressionDamage?
    /// What the content is where it is in none of the formats that are decoded.
    var unsupported: UnsupportedFormat?

    var hasBegun: Bool { decoder != nil || damage != nil }
  }

  /// Decodes a file from its beginning to its end.
  ///
  /// - Parameters:
  ///   - restart: called with the open file and its status before content comes, again when reading starts over.
  ///   - sink: takes the content in order.
  /// - Throws: what `restart` and `sink` throw, and what ends the run.
  func decode(
    _ record: FileRecord, in context: WorkerContext, restart: (Int32, FileStatus) throws(BatchError) -> Void,
    sink: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> Outcome {
    if let outcome = try decodeParts(record, in: context, restart: restart, sink: sink) { return outcome }
    var passage = Passage(path: record.path)
    let read = try context.read(record, isCounted: false) {
      (file: borrowing Descriptor, status) throws(BatchError) in
      passage = Passage(path: record.path)
      try restart(file.raw, status)
    } consume: { (piece) throws(BatchError) in
      try pass(piece, on: &passage, context, sink)
    }
    guard let read else { return .unreadable }
    return try outcome(of: passage, isStable: read.isStable)
  }

  /// Decodes standard input from its beginning to its end.
  ///
  /// - Throws: as ``decode(_:in:restart:sink:)``.
  func decodeStandardInput(
    in context: WorkerContext, sink: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> Outcome {
    var passage = Passage(path: "-")
    var start = [UInt8]()
    inputSize = 0
    do throws(BatchError) {
      let isRead = try context.readStandardInput(isCounted: false) { (piece) throws(BatchError) in
        inputSize += Int64(piece.count)
        if passage.hasBegun {
          try pass(piece, on: &passage, context, sink)
        } else {
          // A pipe may give fewer bytes at a time than it takes to tell the format.
          start.append(contentsOf: piece)
          guard start.count >= CompressionFormat.detectionLength else { return }
          try withBytes(of: start) { (raw) throws(BatchError) in try pass(raw, on: &passage, context, sink) }
        }
        // Ends the reading: nobody knows whether the stream ends by itself.
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
  /// - Returns: nil also where the file cannot be read.
  func unsupportedFormat(of record: FileRecord, in context: WorkerContext) -> UnsupportedFormat? {
    var start = [UInt8](
      repeating: 0, count: Int(min(Int64(CompressionFormat.detectionLength), max(0, record.status.size))))
    do throws(BatchError) {
      try Self.fill(&start, from: 0, of: record, in: context)
    } catch {
      return nil
    }
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
      passage.decoder = try decoder(for: format, by: context.reading)
      passage.decoder?.reset()
    }
    let decoder = passage.decoder
    passage.damage = try Self.damage { () throws(DecodingError) in
      try decoder?.decode(piece) { (content) throws(BatchError) in
        // One piece may hold gigabytes of zeros.
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

  // MARK: Parts

  /// nil when the file has no parts, or one of them is damaged: then all of it is gone over in turn.
  private func decodeParts(
    _ record: FileRecord, in context: WorkerContext, restart: (Int32, FileStatus) throws(BatchError) -> Void,
    sink: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> Outcome? {
    guard record.status.size >= Self.partsThreshold, options.maximumOutput == nil else { return nil }
    let size = UInt64(record.status.size)
    do throws(BatchError) {
      var start = [UInt8](repeating: 0, count: CompressionFormat.detectionLength)
      try Self.fill(&start, from: 0, of: record, in: context)
      guard let format = CompressionFormat.detect(start), format == .zst || format == .xz else { return nil }
      let parts = try PartScanner.parts(of: format, size: size) { (offset, buffer) throws(BatchError) in
        let range = offset..<min(size, offset + UInt64(buffer.count))
        try context.read(
          record, range: range, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count]))
        return range.count
      }
      // Sizes are what the file says of itself: room is made for no more than a window may hold.
      guard let parts, parts.allSatisfy({ max($0.plainSize, $0.compressedSize) <= Self.windowSize }) else {
        return nil
      }
      try context.withFile(record) { (file, now) throws(BatchError) in
        try now.requireContent(of: record)
        try restart(file, now)
      }
      var checkGap: CheckGap?
      var rest = parts[...]
      budget.begin()
      defer { budget.end() }
      while let first = rest.first {
        var window = [first]
        var plain = first.plainSize
        rest = rest.dropFirst()
        let share = budget.share(concurrency: width ?? context.concurrency)
        while window.count < share, let next = rest.first, plain + next.plainSize <= Self.windowSize {
          window.append(next)
          plain += next.plainSize
          rest = rest.dropFirst()
        }
        let isWhole = try budget.with(window.count, concurrency: width ?? context.concurrency) {
          () throws(BatchError) in
          guard let contents = try decode(window, format, of: record, in: context) else { return false }
          for content in contents {
            try context.checkCancellation()
            checkGap = checkGap ?? content.checkGap
            try withBytes(of: content.bytes) { (raw) throws(BatchError) in try sink(raw) }
          }
          return true
        }
        guard isWhole else { return nil }
      }
      return .decoded(format, isStable: true, checkGap: checkGap)
    } catch {
      // A file that changed is read again by the way that tells of it.
      if error.code == .changed || error.code == .vanished { return nil }
      throw error
    }
  }

  private func decode(
    _ window: [CompressedPart], _ format: CompressionFormat, of record: FileRecord, in context: WorkerContext
  ) throws(BatchError) -> [PartContent]? {
    let inputs = Mutex([[UInt8]?]())
    for part in window {
      var bytes = [UInt8](repeating: 0, count: part.compressed.count)
      try Self.fill(&bytes, from: part.compressed.lowerBound, of: record, in: context)
      let input = bytes
      inputs.withLock { $0.append(input) }
    }
    let (options, right) = (options, context.reading)
    let results = Mutex([PartContent?](repeating: nil, count: window.count))
    let width = min(max(1, self.width ?? context.concurrency), window.count)
    DispatchQueue.concurrentPerform(iterations: width) { first in
      for index in stride(from: first, to: window.count, by: width) {
        // Taken out, so that it goes when its content is there.
        let input = inputs.withLock { inputs in
          defer { inputs[index] = nil }
          return inputs[index] ?? []
        }
        let content = Self.content(of: window[index], format, input, options, by: right)
        results.withLock { $0[index] = content }
      }
    }
    let contents = results.withLock { $0 }.compactMap { $0 }
    return contents.count == window.count ? contents : nil
  }

  private struct PartContent: Sendable {
    let bytes: [UInt8]
    let checkGap: CheckGap?
  }

  /// nil when the part is not what its place says.
  private static func content(
    of part: CompressedPart, _ format: CompressionFormat, _ bytes: [UInt8], _ options: DecoderOptions,
    by right: ReadingRight
  ) -> PartContent? {
    do {
      let decoder = try format.makeDecoder(of: part, options, by: right)
      return try withBytes(of: bytes) { (raw) throws(BatchError) in
        var content = [UInt8](unsafeUninitializedCapacity: part.plain.count) { room, count in
          count = decoder.decode(wholeFrame: raw, into: UnsafeMutableRawBufferPointer(room)) ?? 0
        }
        if content.isEmpty, !part.plain.isEmpty {
          content.reserveCapacity(part.plain.count)
          let damage = try Self.damage { () throws(DecodingError) in
            try decoder.decode(raw) { (piece) throws(BatchError) in content.append(contentsOf: piece) }
            try decoder.finish()
          }
          guard damage == nil else { return nil }
        }
        guard content.count == part.plain.count else { return nil }
        return PartContent(bytes: content, checkGap: decoder.checkGap)
      }
    } catch {
      return nil
    }
  }

  private static func fill(
    _ bytes: inout [UInt8], from offset: UInt64, of record: FileRecord, in context: WorkerContext
  ) throws(BatchError) {
    var failure: BatchError?
    let range = offset..<(offset + UInt64(bytes.count))
    bytes.withUnsafeMutableBytes { raw in
      do throws(BatchError) {
        try context.read(record, range: range, into: raw)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
  }

  // MARK: Errors

  private func decoder(
    for format: CompressionFormat, by right: ReadingRight
  ) throws(BatchError) -> StreamDecoder {
    if let known = decoders[format] { return known }
    let decoder = try format.makeDecoder(options, by: right)
    decoders[format] = decoder
    return decoder
  }

  /// The damage that `body` found; other errors go on.
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
