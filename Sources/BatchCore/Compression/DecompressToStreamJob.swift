import BatchEngine

/// Decompresses files to one stream, one after the other; with a concurrency of 1, so that they come in tree order.
package struct DecompressToStreamJob: BatchJob {
  package typealias Item = WalkItem

  private let decoding: DecoderOptions
  private let width: Int
  private let output: any ResultStream

  /// - Parameters:
  ///   - width: parts of a large file that are decoded at once; 1 or more.
  ///   - output: receives the contents.
  package init(_ decoding: DecoderOptions, width: Int, output: any ResultStream) {
    self.decoding = decoding
    self.width = width
    self.output = output
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) -> FunctionWorker<WalkItem, [Sizes]> {
    let content = ContentWriter(FileDecoder(decoding, PartBudget(), width: width), to: output)
    return FunctionWorker { (item, context, output) throws(BatchError) in
      switch item {
      case .file(let record): output += try content.write(record, context).map { [$0] } ?? []
      case .standardInput: output += try content.writeStandardInput(context).map { [$0] } ?? []
      }
    }
  }

  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector { Collector() }

  /// The sizes of decoded content, in bytes.
  package struct Sizes: Sendable {
    package internal(set) var plain: Int64 = 0
    package internal(set) var compressed: Int64 = 0

    package init(plain: Int64 = 0, compressed: Int64 = 0) {
      self.plain = plain
      self.compressed = compressed
    }
  }

  /// Sums up the sizes. The contents were already written to the stream.
  package final class Collector: BatchCollector {
    private var sizes = Sizes()

    package func collect(_ output: [Sizes]) {
      for one in output {
        sizes.plain += one.plain
        sizes.compressed += one.compressed
      }
    }

    package func finish() -> Sizes { sizes }
  }
}

/// Writes the contents of compressed files to a stream.
final class ContentWriter {
  private let decoder: FileDecoder
  private let stream: any ResultStream

  init(_ decoder: FileDecoder, to stream: any ResultStream) {
    self.decoder = decoder
    self.stream = stream
  }

  /// - Returns: nil if it is damaged, which has been reported, or not compressed.
  func write(_ record: FileRecord, _ context: WorkerContext) throws(BatchError) -> DecompressToStreamJob
    .Sizes?
  {
    var hasBegun = false
    var sizes = DecompressToStreamJob.Sizes(plain: 0, compressed: max(0, record.status.size))
    let outcome = try outcome(of: record.path, context) { () throws(BatchError) in
      try decoder.decode(record, in: context) { (_, _) throws(BatchError) in
        // Written content cannot be taken back.
        guard !hasBegun else {
          throw BatchError(.changed, "changed while its content was written", path: record.path)
        }
      } sink: { (piece) throws(BatchError) in
        hasBegun = true
        sizes.plain += Int64(piece.count)
        try stream.write(Array(piece))
      }
    }
    guard !TestJob.isOther(record, outcome) else {
      context.skip(.unknownFormat)
      return nil
    }
    return finish(outcome, of: record.path, context) ? sizes : nil
  }

  /// - Returns: as ``write(_:_:)``.
  func writeStandardInput(_ context: WorkerContext) throws(BatchError) -> DecompressToStreamJob.Sizes? {
    var sizes = DecompressToStreamJob.Sizes()
    let outcome = try outcome(of: "-", context) { () throws(BatchError) in
      try decoder.decodeStandardInput(in: context) { (piece) throws(BatchError) in
        sizes.plain += Int64(piece.count)
        try stream.write(Array(piece))
      }
    }
    sizes.compressed = decoder.inputSize
    return finish(outcome, of: "-", context) ? sizes : nil
  }

  /// A resource that is refused to one file, such as a window of gigabytes, only fails that file; an error of the stream ends
  /// the run.
  private func outcome(
    of path: PathBytes, _ context: WorkerContext, _ decode: () throws(BatchError) -> FileDecoder.Outcome
  ) throws(BatchError) -> FileDecoder.Outcome {
    do throws(BatchError) {
      return try decode()
    } catch {
      guard [.invalid, .exhausted, .changed].contains(error.code) else { throw error }
      context.report(Problem(.unreadable, error.at(path)))
      return .unreadable
    }
  }

  /// - Returns: whether the content is complete.
  private func finish(
    _ outcome: FileDecoder.Outcome, of path: PathBytes, _ context: WorkerContext
  ) -> Bool {
    switch outcome {
    case .unreadable: break
    case .unsupported(let format):
      context.report(Problem(.unreadable, BatchError(.invalid, format.message, path: path)))
    case .decoded:
      context.finish()
      return true
    case .damaged(let damage, _) where damage.kind == .notCompressed:
      let name = path == "-" ? "standard input" : "the content"
      context.report(
        Problem(
          .unreadable,
          BatchError(.malformed, "\(name) is not gzip, zstd, xz, lz4 or bzip2 data", path: path)))
    case .damaged(let damage, let format):
      guard Self.report(damage, of: path, in: format, context) else { return false }
      context.finish()
      return true
    }
    return false
  }

  /// Reports damage.
  ///
  /// - Returns: whether the content is complete, as in the stock tool: only bytes after its end were not decoded.
  static func report(
    _ damage: CompressionDamage, of path: PathBytes, in format: CompressionFormat?, _ context: WorkerContext
  ) -> Bool {
    let problem = Problem(.unreadable, BatchError(.malformed, damage.message, path: path))
    let garbage = damage.kind == .garbageAfterEnd ? format?.codec.garbage : nil
    if garbage == .remark { context.warn(problem) } else { context.report(problem) }
    return garbage == .remark || garbage == .failure
  }
}
