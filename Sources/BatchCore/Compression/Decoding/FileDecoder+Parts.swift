import BatchEngine

extension FileDecoder {
  /// Compressed files of at least this size are searched for parts.
  private static let partsThreshold: Int64 = 8 << 20
  /// The same for files named .bz2, which take longer to decode.
  private static let slowThreshold: Int64 = 1 << 20
  /// The content of parts that are decoded at a time, in addition to the first one.
  private static let windowSize: UInt64 = 64 << 20
  /// After this many times the number of parts in memory, other files get their share of the budget.
  private static let rounds = 16

  /// Decodes a file in parts.
  ///
  /// - Parameter delivered: bytes of content that were passed to the sink.
  /// - Returns: nil when the file has no parts, or one is damaged, or it cannot be read: then the whole file must be decoded
  ///   sequentially.
  /// - Throws: the errors of `restart` and `sink`, and an error after some content was passed on.
  func decodeParts(
    _ record: FileRecord, in context: WorkerContext, restart: (Int32, FileStatus) throws(BatchError) -> Void,
    delivered: inout UInt64, sink: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> Outcome? {
    let isSlow = record.path.bytes.suffix(4).elementsEqual(CompressionFormat.bz2.suffix.utf8)
    guard record.status.size >= (isSlow ? Self.slowThreshold : Self.partsThreshold),
      options.maximumOutput == nil
    else { return nil }
    var count: UInt64 = 0
    defer { delivered = count }
    var isOfCaller = false
    func call(_ body: () throws(BatchError) -> Void) throws(BatchError) {
      isOfCaller = true
      try body()
      isOfCaller = false
    }
    do throws(BatchError) {
      guard let (format, found) = try parts(of: record, in: context) else { return nil }
      return try context.withFile(record) { (file, now) throws(BatchError) -> Outcome? in
        try now.requireContent(of: record)
        try call { () throws(BatchError) in try restart(file, now) }
        if format == .bz2 {
          let isWhole = try decodeBZip2(found, of: file, record: record, in: context) {
            (content) throws(BatchError) in
            try context.checkCancellation()
            try call { () throws(BatchError) in try sink(content) }
            count += UInt64(content.count)
          }
          try context.status(of: file).requireContent(of: record)
          return isWhole ? .decoded(format, isStable: true, checkGap: nil) : nil
        }
        var (check, checkGap) = (UInt32(0), CheckGap?.none)
        let isWhole = try decode(found, as: format, of: file, record: record, in: context) {
          (content) throws(BatchError) in
          try context.checkCancellation()
          let measure = content.measure
          checkGap = checkGap ?? measure.checkGap
          if found.check != nil {
            check = GzipBlockTable.join(check, measure.check, count: measure.count)
          }
          try withBytes(of: content.bytes) { (raw) throws(BatchError) in
            try call { () throws(BatchError) in
              try sink(UnsafeRawBufferPointer(rebasing: raw[..<measure.count]))
            }
          }
          count += UInt64(measure.count)
        }
        try context.status(of: file).requireContent(of: record)
        guard isWhole, found.check == nil || found.check == check else { return nil }
        return .decoded(format, isStable: true, checkGap: checkGap)
      }
    } catch {
      // A changed file is read again sequentially, which reports the change.
      if error.code == .changed || error.code == .vanished {
        count = 0
        return nil
      }
      // The sequential reading reports an error of reading, if no content must be taken back.
      guard !isOfCaller, count == 0, error.code != .cancelled else { throw error }
      return nil
    }
  }

  private func parts(
    of record: FileRecord, in context: WorkerContext
  ) throws(BatchError) -> (format: CompressionFormat, found: CompressedParts)? {
    let size = UInt64(clamping: record.status.size)
    var start = [UInt8](repeating: 0, count: CompressionFormat.detectionLength)
    try Self.fill(&start, from: 0, of: record, in: context)
    let read: PartReader = { (offset, buffer) throws(BatchError) in
      let range = offset..<min(size, offset + UInt64(buffer.count))
      try context.read(
        record, ranges: [range], into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count]))
      return range.count
    }
    let format = CompressionFormat.detect(start)
    if format == .bz2 {
      guard max(1, width ?? context.concurrency) > 1, let found = BZip2PartDecoder.parts(size: size)
      else { return nil }
      return (.bz2, found)
    }
    // The sizes come from the file and are not trusted: no buffer is larger than a window.
    guard record.status.size >= Self.partsThreshold, let format,
      let found = try PartScanner.parts(of: format, size: size, read: read),
      found.parts.allSatisfy({ max($0.plainSize, $0.compressedSize) <= Self.windowSize })
    else { return nil }
    return (format, found)
  }

  /// - Returns: whether all parts match their recorded sizes.
  private func decode(
    _ found: CompressedParts, as format: CompressionFormat, of file: Int32, record: FileRecord,
    in context: WorkerContext,
    deliver: (PartPipeline.Content) throws(BatchError) -> Void
  ) throws(BatchError) -> Bool {
    let (options, right, calls) = (options, context.reading, context.calls)
    let mayHaveHoles = record.status.unallocated > 0
    let decodePart: PartPipeline.Decode = { (part, input, output) in
      // A compressed size is at most that of a window.
      let size = Int(clamping: part.compressedSize)
      if input.count < size { input = [UInt8](unsafeUninitializedCapacity: size) { $1 = size } }
      return input.withUnsafeMutableBytes { room in
        let bytes = UnsafeMutableRawBufferPointer(rebasing: room[..<size])
        let count = SparseReading.fill(
          bytes, from: file, at: part.compressed.lowerBound, mayHaveHoles: mayHaveHoles, calls: calls)
        guard count == size else { return nil }
        return Self.content(
          of: part, format, UnsafeRawBufferPointer(bytes), into: &output, options, by: right)
      }
    }
    return try decode(found.parts, in: context, by: decodePart, deliver: deliver)
  }

  /// Decodes a .bz2 file, whose blocks are found by their marks.
  ///
  /// - Returns: false when it must be decoded sequentially.
  private func decodeBZip2(
    _ found: CompressedParts, of file: Int32, record: FileRecord, in context: WorkerContext,
    deliver: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> Bool {
    let calls = context.calls
    let mayHaveHoles = record.status.unallocated > 0
    let size = UInt64(clamping: record.status.size)
    var start = [UInt8](repeating: 0, count: 4)
    try Self.fill(&start, from: 0, of: record, in: context)
    let level = start[3]
    let lanes = max(1, width ?? context.concurrency)
    let decoder = BZip2PartDecoder(size: size, level: level, width: lanes, budget: budget) {
      SparseReading.fill($0, from: file, at: $1, mayHaveHoles: mayHaveHoles, calls: calls) == $0.count
    }
    var (chain, index, isBroken) = (BZip2Chain(level: level), 0, false)
    do throws(BatchError) {
      let isWhole = try decode(found.parts, in: context) {
        decoder.measure($0, &$1, &$2)
      } deliver: { (content) throws(BatchError) in
        let isNext = try decoder.receive(
          content, of: found.parts[index], chain: &chain,
          checking: { () throws(BatchError) in try context.checkCancellation() }, deliver: deliver)
        index += 1
        guard isNext else {
          isBroken = true
          throw BatchError(.malformed, "not decoded in parts", path: record.path)
        }
      }
      return isWhole && chain.isEnd(size)
    } catch {
      guard isBroken else { throw error }
      return false
    }
  }

  /// - Returns: whether all parts were decoded.
  private func decode(
    _ parts: [CompressedPart], in context: WorkerContext, by decodePart: @escaping PartPipeline.Decode,
    deliver: (PartPipeline.Content) throws(BatchError) -> Void
  ) throws(BatchError) -> Bool {
    budget.begin()
    defer { budget.end() }
    let rooms = PartPipeline.Rooms()
    var rest = parts[...]
    while !rest.isEmpty {
      let width = max(1, self.width ?? context.concurrency)
      let share = budget.share(concurrency: width)
      let (window, _) = share.multipliedReportingOverflow(by: Self.rounds)
      let next = Array(rest.prefix(window))
      rest = rest.dropFirst(window)
      func run(on threads: Int) throws(BatchError) -> Bool {
        try PartPipeline(
          next, width: threads, ahead: share, largest: Self.windowSize, rooms: rooms, decode: decodePart
        ).run(deliver)
      }
      let isWhole = try budget.with(min(share, rest.count + window), concurrency: width) {
        () throws(BatchError) in
        // A given number is for a run whose only operation this is.
        guard self.width == nil else { return try run(on: min(width, share)) }
        return try context.concurrencyLimit.withThreads(upTo: min(width, share), run)
      }
      guard isWhole else { return false }
    }
    return true
  }

  /// - Parameter output: a buffer that is reused.
  /// - Returns: nil when the part does not match its recorded size.
  private static func content(
    of part: CompressedPart, _ format: CompressionFormat, _ bytes: UnsafeRawBufferPointer,
    into output: inout [UInt8], _ options: DecoderOptions, by right: ReadingRight
  ) -> PartPipeline.Measure? {
    let size = Int(clamping: part.plainSize)
    // gzip needs one more byte to detect that no more content follows.
    if output.count <= size { output = [UInt8](unsafeUninitializedCapacity: size + 1) { $1 = size + 1 } }
    if format == .gz {
      let check = output.withUnsafeMutableBytes {
        GzipSegment.inflate(bytes, into: UnsafeMutableRawBufferPointer(rebasing: $0[...size]))
      }
      return check.map { PartPipeline.Measure(count: size, check: $0) }
    }
    do {
      let decoder = try format.makeDecoder(of: part, options, by: right)
      let count = output.withUnsafeMutableBytes {
        decoder.decode(wholeFrame: bytes, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<size]))
      }
      if count == nil || (count == 0 && size > 0) {
        output.removeAll(keepingCapacity: true)
        let damage = try Self.damage { () throws(DecodingError) in
          try decoder.decode(bytes) { (piece) throws(BatchError) in output.append(contentsOf: piece) }
          try decoder.finish()
        }
        guard damage == nil, output.count == size else { return nil }
      } else if count != size {
        return nil
      }
      return PartPipeline.Measure(count: size, checkGap: decoder.checkGap)
    } catch {
      return nil
    }
  }
}

/// Finds the parts of a compressed file that several lanes can decode at the same time.
///
/// zstd frames are found from header to header, reading three bytes for each 128 KiB of content; xz files have an index at
/// their end, and our large gzip files have one at their start. Other files do not record sizes.
package enum PartScanner {
  /// The parts in order, which together contain all content of the file.
  ///
  /// Nothing is decoded or verified here: the decoder of each part checks it, see ``CompressionFormat/makeDecoder(of:_:)``.
  /// - Parameters:
  ///   - size: the size of the compressed file in bytes.
  ///   - smallest: parts with less content than this are joined with the next one.
  /// - Returns: nil when the file has fewer than two parts, does not record its sizes, or is damaged: then one
  ///   ``StreamDecoder`` must decode all of it, which also reports the damage.
  /// - Throws: the error of `read`.
  package static func parts(
    of format: CompressionFormat, size: UInt64, smallest: UInt64 = 1 << 20, read: PartReader
  ) throws(BatchError) -> CompressedParts? {
    guard let found = try format.codec.parts(size: size, read) else { return nil }
    var parts: [CompressedPart] = []
    for part in found.parts {
      if let last = parts.last, last.plainSize < smallest, let joined = last.joined(with: part) {
        parts[parts.count - 1] = joined
      } else {
        parts.append(part)
      }
    }
    return parts.count > 1 ? CompressedParts(parts: parts, check: found.check) : nil
  }
}
