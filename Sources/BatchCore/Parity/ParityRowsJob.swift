import BatchEngine

/// The factor of an input block in a row.
struct ParityFactors: Sendable {
  private enum Form: Sendable {
    /// Powers of the constants of the blocks.
    case encoding(constants: [UInt16], exponents: [UInt16])
    /// A matrix with this many factors in a row.
    case matrix(AlignedRegion, stride: Int)
  }

  private let form: Form

  /// - Parameter exponents: one for each row, below 65,535.
  init(blockCount: Int, exponents: [UInt16]) {
    form = .encoding(constants: GaloisField.constants(blockCount), exponents: exponents)
  }

  init(matrix: AlignedRegion, stride: Int) { form = .matrix(matrix, stride: stride) }

  func factor(row: Int, block: Int) -> UInt16 {
    switch form {
    case .encoding(let constants, let exponents): GaloisField.shared.power(constants[block], exponents[row])
    case .matrix(let matrix, let stride):
      matrix.base.load(fromByteOffset: 2 * (row * stride + block), as: UInt16.self)
    }
  }
}

/// Computes rows and checksums of blocks. The result does not depend on the order in which blocks are added.
struct ParityRowsJob: BatchJob {
  enum Item: Sendable {
    /// The MD5 of a whole file, which only one lane can compute.
    case file(Int, size: UInt64)
    case checksums(Range<Int>)
    /// Adds the products of some blocks to all rows, in some columns.
    case products(Range<Int>, ParityRows.Stripe)
  }

  enum Result: Sendable {
    case file(Int, ParityHash)
    case checksums(Range<Int>, [BlockChecksum])
  }

  /// The blocks of one item. Their columns of an item stay in the second cache of a core while all rows are computed.
  static let blocksOfItem = 16
  /// The most bytes of a block in an item. Each product begins with tables of its factor, so shorter pieces are slower.
  static let mostColumns = 128 << 10
  /// What a lane needs for its buffer.
  static var laneMemory: Int { blocksOfItem * mostColumns }

  let inputs: ParityInputs
  let places: [BlockPlace]
  let blockSize: Int
  let factors: ParityFactors
  /// Nil if only checksums are computed.
  let rows: ParityRows?
  let pass: Range<Int>
  let progress: Counters

  var descriptors: Int { DescriptorBudget.tokensToRead }

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

    private let job: ParityRowsJob
    private let reader: BlockReader
    private let digests: BlockDigests
    private let stream: DigestStream
    private let product: RegionProduct
    private var buffer = AlignedRegion(byteCount: pieceSize)

    init(_ job: ParityRowsJob, _ context: WorkerContext) throws(BatchError) {
      self.job = job
      reader = BlockReader(job.inputs, by: FolderOpener(calls: context.calls))
      digests = try BlockDigests(blockSize: job.blockSize)
      stream = try DigestStream(.md5)
      product = try RegionProduct()
    }

    func process(_ item: Item, in context: WorkerContext, into output: inout [Result]) throws(BatchError) {
      defer { reader.close() }
      switch item {
      case .file(let index, let size):
        try read(file: index, size: size, context) { (bytes) throws(BatchError) in try stream.update(bytes) }
        output.append(.file(index, ParityHash(try stream.finish())))
      case .checksums(let blocks):
        var sums: [BlockChecksum] = []
        for first in Swift.stride(from: blocks.lowerBound, to: blocks.upperBound, by: BlockDigests.atOnce) {
          let count = min(BlockDigests.atOnce, blocks.upperBound - first)
          sums += try digests.checksums(of: count) { (block, column, piece) throws(BatchError) in
            try context.checkCancellation()
            try reader.read(job.places[first + block], from: column, into: piece)
          }
          for place in job.places[first..<(first + count)] { job.progress.addBytes(place.length) }
        }
        output.append(.checksums(blocks, sums))
      case .products(let blocks, let stripe): try add(blocks, stripe, context)
      }
      context.finish()
    }

    private func read(
      file: Int, size: UInt64, _ context: WorkerContext,
      _ take: (UnsafeRawBufferPointer) throws(BatchError) -> Void
    ) throws(BatchError) {
      var offset: UInt64 = 0
      while offset < size {
        try context.checkCancellation()
        let piece = UnsafeMutableRawBufferPointer(
          rebasing: buffer.bytes[..<Int(min(UInt64(Self.pieceSize), size - offset))])
        guard try reader.read(file, at: offset, into: piece) == piece.count else {
          throw BatchError(.changed, "became shorter while it was read", path: job.inputs.files[file].shown)
        }
        try take(UnsafeRawBufferPointer(piece))
        offset += UInt64(piece.count)
      }
    }

    private func add(
      _ blocks: Range<Int>, _ stripe: ParityRows.Stripe, _ context: WorkerContext
    ) throws(BatchError) {
      guard let rows = job.rows else { return }
      let width = stripe.columns.count
      let stride = (width + 63) / 64 * 64
      if buffer.byteCount < blocks.count * stride { buffer = AlignedRegion(byteCount: blocks.count * stride) }
      for (index, block) in blocks.enumerated() {
        try context.checkCancellation()
        let start = index * stride
        try reader.read(
          job.places[block], from: stripe.columns.lowerBound,
          into: UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[start..<(start + width)]))
        product.arrange(buffer.base + start, count: stride)
      }
      let factors = (0..<rows.rowCount).flatMap { row in
        blocks.map { job.factors.factor(row: row, block: $0) }
      }
      let base = UnsafeRawPointer(buffer.base)
      try stripe.use { () throws(BatchError) in
        for row in 0..<rows.rowCount {
          try context.checkCancellation()
          let target = rows.address(row, stripe.columns.lowerBound, in: job.pass)
          for index in 0..<blocks.count {
            product.add(
              base + index * stride, times: factors[row * blocks.count + index], to: target, count: stride)
          }
        }
      }
    }
  }
}

/// Plans the items of a pass: blocks in their order, so that each part of a file is read at about one time.
struct ParityRowsSource: BatchSource {
  private var items: [ParityRowsJob.Item].Iterator

  /// - Parameters:
  ///   - job: what is computed.
  ///   - wholeFiles: files whose MD5 is computed.
  ///   - withChecksums: whether the checksums of blocks are computed.
  ///   - lanes: how many there are; only the cut depends on it, and not the result.
  init(_ job: ParityRowsJob, wholeFiles: [(index: Int, size: UInt64)], withChecksums: Bool, lanes: Int) {
    var items = wholeFiles.map { ParityRowsJob.Item.file($0.index, size: $0.size) }
    var stripes: [ParityRows.Stripe] = []
    if job.rows != nil {
      let share = (job.pass.count / max(1, 2 * lanes) + 63) / 64 * 64
      let width = min(ParityRowsJob.mostColumns, max(share, 2048))
      stripes = Swift.stride(from: job.pass.lowerBound, to: job.pass.upperBound, by: width).map {
        ParityRows.Stripe($0..<min(job.pass.upperBound, $0 + width))
      }
    }
    for start in Swift.stride(from: 0, to: job.places.count, by: ParityRowsJob.blocksOfItem) {
      let blocks = start..<min(job.places.count, start + ParityRowsJob.blocksOfItem)
      if withChecksums { items.append(.checksums(blocks)) }
      items += stripes.map { .products(blocks, $0) }
    }
    self.items = items.makeIterator()
  }

  mutating func next() -> Yielded<ParityRowsJob.Item, Never>? { items.next().map { .item($0) } }

  func weight(of item: ParityRowsJob.Item) -> Int64 { 0 }
}

extension RunContext {
  /// Runs a job whose results are values, as a step of this run.
  ///
  /// - Throws: why it was stopped.
  func step<Job: BatchJob, Source: BatchSource>(
    _ job: Job, over source: sending Source
  ) throws(BatchError) -> Job.Collector.Summary where Job.Item == Source.Item, Job.SourceRow == Source.Row {
    let outcome = BatchRunner(RunContext(sharing: self, stride: .fixed(1), observer: nil)).run(
      job, over: source)
    guard let result = outcome.result else {
      throw outcome.summary.stopped ?? BatchError(.cancelled, "the run was stopped")
    }
    return result
  }
}
