import BatchEngine
import BatchOutputs

/// What a run says of one source, in tree order, when the output is safe.
package struct TransformReport: OutputReport {
  package let source: PathBytes
  package let outcome: OutputOutcome
  /// Why decompressed content could not be compared with a check; nil where it was, or nothing was decompressed.
  package var checkGap: CheckGap?
  /// Whether the output took the place of an older one.
  package var hasReplaced = false

  package init(source: PathBytes, outcome: OutputOutcome) {
    self.source = source
    self.outcome = outcome
  }
}

/// The number of sources by result, and their sizes.
package struct TransformCounts: Sendable {
  package private(set) var written = 0
  /// Of those the ones that took the place of an older output.
  package private(set) var replaced = 0
  /// Bytes of those that were written, and of streams.
  package private(set) var plainBytes: Int64 = 0
  package private(set) var compressedBytes: Int64 = 0
  package private(set) var upToDate = 0
  package private(set) var compressedAlready = 0
  package private(set) var notSmaller = 0
  package private(set) var linked = 0
  package private(set) var copied = 0
  /// Bytes of those that were copied.
  package private(set) var copiedBytes: Int64 = 0

  package init() {}

  /// Counts a stream that was no file.
  mutating func addStream(plain: Int64, compressed: Int64) {
    plainBytes += plain
    compressedBytes += compressed
  }

  mutating func add(_ report: TransformReport) {
    switch report.outcome {
    case .written(_, let plain, let compressed):
      written += 1
      if report.hasReplaced { replaced += 1 }
      plainBytes += plain
      compressedBytes += compressed
    case .upToDate: upToDate += 1
    case .compressedAlready: compressedAlready += 1
    case .notSmaller: notSmaller += 1
    case .linked: linked += 1
    case .copied(_, let size):
      copied += 1
      copiedBytes += size
    case .planned: break
    }
  }
}

/// What a lane hands to the collector for one item.
package struct TransformRow: Sendable {
  enum Content: Sendable {
    /// A source without an output to wait for.
    case report(TransformReport, LinkedSource?)
    /// A source whose output waits for its name.
    case output(TransformReport, StagedOutput, LinkedSource?)
    /// A source that failed, which was reported, and has further names.
    case failed(LinkedSource)
    /// A further name, and the decision about its output.
    case link(HardLinkItem, OutputDecision)
    /// The first block of a large file comes with what the file is.
    case block(LargeFile, CompressedBlock, LargeFileStart?)
    case failedBlock(LargeFile, Problem)
    /// A large file that gets no compressed output, found out with its first block; nil when that failed, which was reported.
    case passedOver(LargeFile, TransformReport?, StagedOutput?, LinkedSource?)
    /// What became of a large file whose last block was written, and that had to be proved or copied.
    case completed(LargeFile, LargeFileEnd)
    case streamBlock(CompressedBlock)
    /// Standard input that was decompressed; sizes in bytes.
    case streamed(plain: Int64, compressed: Int64)
    /// A whole compressed file, for the stream.
    case streamFile(TransformReport, [UInt8])

    /// Whether it says what became of a source, and needs no row before it.
    var isComplete: Bool {
      switch self {
      case .report, .output, .failed, .completed: true
      case .link, .block, .failedBlock, .passedOver, .streamBlock, .streamed, .streamFile: false
      }
    }
  }

  /// What became of a large file whose last block was written.
  enum LargeFileEnd: Sendable {
    /// - `output`: nil where one is up to date.
    /// - `remark`: what to report beside it.
    case done(TransformReport, output: StagedOutput?, LinkedSource?, remark: BatchError?)
    case failed(Problem)
  }

  let content: Content

  init(_ content: Content) { self.content = content }
}
