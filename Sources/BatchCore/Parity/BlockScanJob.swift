import BatchEngine

/// Looks for the blocks of a set in files: where they belong, and at any other offset.
struct BlockScanJob: BatchJob {
  enum Item: Sendable {
    /// Blocks of a member where they belong.
    case aligned(member: Int, blocks: Range<Int>, size: UInt64)
    /// Blocks at any offset of a range of a file, in which they begin.
    ///
    /// - Parameters:
    ///   - end: the end of the bytes in which a block may be.
    ///   - size: of the file; after it a block may be filled up with zeros.
    case anywhere(file: Int, starts: Range<UInt64>, end: UInt64, size: UInt64)
    /// A whole member without checksums of blocks.
    case whole(member: Int, size: UInt64)
  }

  struct Result: Sendable {
    var places: [(block: Int, place: BlockPlace)] = []
    /// Whether some bytes could not be read.
    var isUnreadable = false
  }

  let set: ParitySet
  let inputs: ParityInputs
  let lookup: BlockLookup
  let progress: Counters

  func makeWorker(in context: WorkerContext, sharing: Void) throws(BatchError) -> Worker {
    try Worker(self, context)
  }

  func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector { Collector() }

  final class Collector: BatchCollector {
    private var results: [Result] = []

    func collect(_ output: [Result]) { results += output }
    func finish() -> [Result] { results }
  }

  final class Worker: BatchWorker {
    private static let pieceSize = 256 << 10
    /// How many windows of an item may have the CRC-32 of a block without being one. Only a forged file has more.
    private static let mostWrong = 64

    private let job: BlockScanJob
    private let reader: BlockReader
    private let digest: BlockDigest
    private let digests: BlockDigests
    private let buffer = AlignedRegion(byteCount: pieceSize)
    private let entering = AlignedRegion(byteCount: pieceSize)
    /// Made when a file is searched: its tables depend on the size of the blocks.
    private var rolling: RollingCheck?

    init(_ job: BlockScanJob, _ context: WorkerContext) throws(BatchError) {
      self.job = job
      reader = BlockReader(job.inputs, by: FolderOpener(calls: context.calls))
      digest = try BlockDigest()
      digests = try BlockDigests(blockSize: job.set.blockSize)
    }

    func process(_ item: Item, in context: WorkerContext, into output: inout [Result]) throws(BatchError) {
      defer { reader.close() }
      var result = Result()
      switch item {
      case .aligned(let index, let blocks, let size):
        for first in stride(from: blocks.lowerBound, to: blocks.upperBound, by: BlockDigests.atOnce) {
          let last = min(blocks.upperBound, first + BlockDigests.atOnce)
          try look(at: first..<last, of: index, size: size, context, &result)
        }
      case .anywhere(let file, let starts, let end, let size):
        try search(file, starts, end: end, size: size, context, &result)
      case .whole(let index, let size): try compare(index, size: size, context, &result)
      }
      output.append(result)
      context.finish()
    }

    /// Compares some blocks of a member with what is where they belong.
    private func look(
      at blocks: Range<Int>, of index: Int, size: UInt64, _ context: WorkerContext, _ result: inout Result
    ) throws(BatchError) {
      let member = job.set.members[index]
      let places = blocks.compactMap { block -> BlockPlace? in
        let offset = UInt64(block - member.firstBlock) * UInt64(job.set.blockSize)
        guard offset < size else { return nil }
        let length = min(job.set.length(of: block, in: member), Int(min(size - offset, UInt64(Int.max))))
        return BlockPlace(file: index, offset: offset, length: length)
      }
      var unreadable: Set<Int> = []
      let sums = try digests.checksums(of: places.count) { (number, column, piece) throws(BatchError) in
        try context.checkCancellation()
        let place = places[number]
        let count = max(0, min(piece.count, place.length - column))
        if count > 0 {
          let bytes = UnsafeMutableRawBufferPointer(rebasing: piece[..<count])
          if try !reader.readAround(index, at: place.offset + UInt64(column), into: bytes) {
            unreadable.insert(number)
          }
        }
        piece[count...].clear()
      }
      for (number, place) in places.enumerated() {
        job.progress.addBytes(place.length)
        if unreadable.contains(number) {
          result.isUnreadable = true
        } else if job.lookup.checksum(of: blocks.lowerBound + number) == sums[number] {
          result.places.append((blocks.lowerBound + number, place))
        } else {
          for other in job.lookup.blocks(sums[number]) { result.places.append((other, place)) }
        }
      }
    }

    /// - Returns: the checksums of a block; nil if a part of it cannot be read.
    private func checksum(
      _ file: Int, at offset: UInt64, length: Int, _ context: WorkerContext, _ result: inout Result
    ) throws(BatchError) -> BlockChecksum? {
      var done = 0
      var isReadable = true
      while done < length {
        try context.checkCancellation()
        let piece = UnsafeMutableRawBufferPointer(
          rebasing: buffer.bytes[..<min(buffer.byteCount, length - done)])
        if try !reader.readAround(file, at: offset + UInt64(done), into: piece) { isReadable = false }
        try digest.add(UnsafeRawBufferPointer(piece))
        done += piece.count
      }
      let sum = try digest.finish(zeros: job.set.blockSize - length)
      if !isReadable { result.isUnreadable = true }
      return isReadable ? sum : nil
    }

    private func compare(
      _ index: Int, size: UInt64, _ context: WorkerContext, _ result: inout Result
    ) throws(BatchError) {
      let member = job.set.members[index]
      guard size == member.file.size else { return }
      let stream = try DigestStream(.md5)
      var offset: UInt64 = 0
      while offset < size {
        try context.checkCancellation()
        let piece = UnsafeMutableRawBufferPointer(
          rebasing: buffer.bytes[..<Int(min(UInt64(buffer.byteCount), size - offset))])
        if try !reader.readAround(index, at: offset, into: piece) { result.isUnreadable = true }
        try stream.update(UnsafeRawBufferPointer(piece))
        offset += UInt64(piece.count)
      }
      guard ParityHash(try stream.finish()) == member.file.hash else { return }
      for block in member.blocks {
        let start = UInt64(block - member.firstBlock) * UInt64(job.set.blockSize)
        result.places.append(
          (block, BlockPlace(file: index, offset: start, length: job.set.length(of: block, in: member))))
      }
    }

    /// Moves a window over a range. After a block it continues behind it.
    private func search(
      _ file: Int, _ starts: Range<UInt64>, end: UInt64, size: UInt64, _ context: WorkerContext,
      _ result: inout Result
    ) throws(BatchError) {
      let width = job.set.blockSize
      var rolling = rolling ?? RollingCheck(width: width)
      defer { self.rolling = rolling }
      // A window may reach over the end of the file, where zeros follow.
      let last = end == size ? size : end - min(end, UInt64(width) - 1)
      let limit = min(starts.upperBound, last)
      var position = starts.lowerBound
      var isBegun = false
      var wrong = 0
      while position < limit {
        try context.checkCancellation()
        if !isBegun {
          rolling.begin(try check(file, at: position, size: size, context))
          isBegun = true
        }
        if job.lookup.has(rolling.check), wrong < Self.mostWrong {
          let length = Int(min(UInt64(width), size - position))
          if let sum = try checksum(file, at: position, length: length, context, &result) {
            let found = job.lookup.blocks(sum)
            for block in found {
              result.places.append((block, BlockPlace(file: file, offset: position, length: length)))
            }
            if !found.isEmpty {
              position += UInt64(length)
              isBegun = false
              continue
            }
          }
          wrong += 1
        }
        let count = Int(min(UInt64(Self.pieceSize), limit - position))
        let leaving = UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<count])
        let arriving = UnsafeMutableRawBufferPointer(rebasing: entering.bytes[..<count])
        _ = try reader.readAround(file, at: position, into: leaving)
        if position + UInt64(width) < size {
          _ = try reader.readAround(file, at: position + UInt64(width), into: arriving)
        } else {
          arriving[...].clear()
        }
        let lookup = job.lookup
        let moved = rolling.move(
          leaving: UnsafeRawBufferPointer(leaving), entering: UnsafeRawBufferPointer(arriving)
        ) { check in !(lookup.mayHave(check) && lookup.has(check)) }
        position += UInt64(moved)
        job.progress.addBytes(moved)
      }
    }

    /// The CRC-32 of a window.
    private func check(
      _ file: Int, at position: UInt64, size: UInt64, _ context: WorkerContext
    ) throws(BatchError) -> UInt32 {
      let length = Int(min(UInt64(job.set.blockSize), size - position))
      var (sum, done) = (UInt32(0), 0)
      while done < length {
        try context.checkCancellation()
        let piece = UnsafeMutableRawBufferPointer(
          rebasing: buffer.bytes[..<min(buffer.byteCount, length - done)])
        _ = try reader.readAround(file, at: position + UInt64(done), into: piece)
        sum = Checksums.check(UnsafeRawBufferPointer(piece), after: sum)
        done += piece.count
      }
      return Checksums.check(zeros: job.set.blockSize - length, after: sum)
    }
  }
}

struct BlockScanSource: BatchSource {
  private var items: [BlockScanJob.Item].Iterator

  init(_ items: [BlockScanJob.Item]) { self.items = items.makeIterator() }

  mutating func next() -> Yielded<BlockScanJob.Item, Never>? { items.next().map { .item($0) } }

  func weight(of item: BlockScanJob.Item) -> Int64 { 0 }
}
