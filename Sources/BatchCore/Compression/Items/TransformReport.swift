import BatchEngine
import BatchOutputs

/// The report of one source, made in tree order when its output is committed.
package struct TransformReport: OutputReport {
  package let source: PathBytes
  package let outcome: OutputOutcome
  /// Why decompressed content could not be compared with a checksum; nil if it was compared, or nothing was decompressed.
  package var checkGap: CheckGap?
  /// Whether the output replaced an older one.
  package var hasReplaced = false

  package init(source: PathBytes, outcome: OutputOutcome) {
    self.source = source
    self.outcome = outcome
  }
}

/// The number of sources by result, and their sizes.
package struct TransformCounts: Sendable {
  package private(set) var written = 0
  /// How many of these replaced an older output.
  package private(set) var replaced = 0
  /// Bytes of the sources with written outputs, and of streams.
  package private(set) var plainBytes: Int64 = 0
  package private(set) var compressedBytes: Int64 = 0
  package private(set) var upToDate = 0
  package private(set) var compressedAlready = 0
  package private(set) var notSmaller = 0
  package private(set) var linked = 0
  package private(set) var copied = 0
  /// Bytes of the copied sources.
  package private(set) var copiedBytes: Int64 = 0

  package init() {}

  /// Counts a stream that was not a file.
  mutating func addStream(plain: Int64, compressed: Int64) {
    plainBytes.addClamped(plain)
    compressedBytes.addClamped(compressed)
  }

  mutating func add(_ report: TransformReport) {
    switch report.outcome {
    case .written(_, let plain, let compressed):
      written += 1
      if report.hasReplaced { replaced += 1 }
      plainBytes.addClamped(plain)
      compressedBytes.addClamped(compressed)
    case .upToDate: upToDate += 1
    case .compressedAlready: compressedAlready += 1
    case .notSmaller: notSmaller += 1
    case .linked: linked += 1
    case .copied(_, let size):
      copied += 1
      copiedBytes.addClamped(size)
    case .planned: break
    }
  }
}

/// The result of a lane for one item, for the collector.
package enum TransformRow: Sendable {
  /// A source whose output need not be committed.
  case report(TransformReport, LinkedSource?)
  /// A source with a staged output.
  case output(TransformReport, StagedOutput)
  /// A source that failed, which was reported, and has further names.
  case failed(LinkedSource)
  /// A source whose output did not fit on its file system, which was not reported.
  case unwritten(UnwrittenSource)
  /// The result of another try; nil when it failed in another way, which was reported.
  indirect case retried(UnwrittenSource, TransformRow?)
  /// A further name, and the decision about its output.
  case link(HardLinkItem, OutputDecision)
  /// A block of a large file; the first one with the start of the file.
  case block(LargeFile, CompressedBlock, LargeFileStart?)
  case failedBlock(LargeFile, Problem)
  /// The result of a large file without a compressed output, as found with its first block; nil when that failed, which was
  /// reported.
  indirect case passedOver(LargeFile, TransformRow?)
  /// The end of a large file that had to be verified or copied after its last block.
  case completed(LargeFile, LargeFileEnd)
  case streamBlock(CompressedBlock)
  /// Standard input that was decompressed; sizes in bytes.
  case streamed(plain: Int64, compressed: Int64)
  /// A whole compressed file, for the stream.
  case streamFile(TransformReport, [UInt8])

  /// Whether it is the whole result of a source and depends on no earlier row.
  var isComplete: Bool {
    switch self {
    case .report, .output, .failed, .unwritten, .retried, .passedOver, .completed: true
    case .link, .block, .failedBlock, .streamBlock, .streamed, .streamFile: false
    }
  }

  /// The end of a large file whose last block was written.
  package enum LargeFileEnd: Sendable {
    /// - `remark`: an additional warning.
    case staged(TransformReport, StagedOutput, remark: BatchError?)
    case upToDate(TransformReport, LinkedSource?)
    case failed(Problem)
  }
}
