import BatchEngine

/// What became of one source.
package enum TransformOutcome: Sendable, Hashable {
  case written(target: PathBytes, plainSize: Int64, compressedSize: Int64)
  case upToDate
  /// By its first bytes it is in a compressed format.
  case compressedAlready
  /// The output would not have been smaller.
  case notSmaller
  case linked(target: PathBytes)

  /// As what a source counts that got no output of its own.
  var skipReason: SkipReason {
    switch self {
    case .upToDate: .upToDate
    case .compressedAlready: .compressedAlready
    case .notSmaller: .notSmaller
    case .written, .linked: .withoutFirst
    }
  }
}

/// What a run says of one source, in tree order, when the output is safe.
package struct TransformReport: Sendable {
  package let source: PathBytes
  package let outcome: TransformOutcome
  /// Why decompressed content could not be compared with a check; nil where it was, or nothing was decompressed.
  package var checkGap: CheckGap?
}

/// How many sources came to what, and their sizes.
package struct TransformCounts: Sendable {
  package private(set) var written = 0
  /// Bytes of those that were written.
  package private(set) var plainBytes: Int64 = 0
  package private(set) var compressedBytes: Int64 = 0
  package private(set) var upToDate = 0
  package private(set) var compressedAlready = 0
  package private(set) var notSmaller = 0
  package private(set) var linked = 0

  package init() {}

  mutating func add(_ outcome: TransformOutcome) {
    switch outcome {
    case .written(_, let plain, let compressed):
      written += 1
      plainBytes += plain
      compressedBytes += compressed
    case .upToDate: upToDate += 1
    case .compressedAlready: compressedAlready += 1
    case .notSmaller: notSmaller += 1
    case .linked: linked += 1
    }
  }
}

/// What a lane hands to the collector for one item.
package struct TransformRow: Sendable {
  enum Content: Sendable {
    /// A source without an output to wait for.
    case report(TransformReport, SharedSource?)
    /// A source whose output waits for its name.
    case output(TransformReport, OutputCommitter.Commitment, SharedSource?)
    /// A source that failed, which was reported, and has further names.
    case failed(SharedSource)
    /// A further name, and the decision about its output.
    case link(FurtherName, OutputDecision)
    /// The first block of a large file comes with what the file is.
    case block(LargeFile, CompressedBlock, LargeFileStart?)
    case failedBlock(LargeFile, Problem)
    case streamBlock(CompressedBlock)
  }

  let content: Content

  init(_ content: Content) { self.content = content }
}

/// The first name of a file that has several, and its output.
final class SharedSource: Sendable {
  let record: FileRecord
  /// The file as it was when it was read.
  let read: FileStatus
  /// The inode of the output; nil without one.
  let output: FileIdentity?
  /// Whether the output was read back and compared.
  let isProved: Bool

  private init(_ record: FileRecord, _ read: FileStatus, output: FileIdentity?, isProved: Bool) {
    self.record = record
    self.read = read
    self.output = output
    self.isProved = isProved
  }

  /// - Parameter output: the inode of one that is up to date.
  /// - Returns: nil for a file with one name.
  static func of(_ record: FileRecord, output: FileIdentity? = nil) -> SharedSource? {
    guard record.status.linkCount > 1 else { return nil }
    return SharedSource(record, record.status, output: output, isProved: false)
  }

  /// The same for an output that is staged.
  static func of(_ staged: StagedOutput) -> SharedSource? {
    guard staged.source.status.linkCount > 1 else { return nil }
    return SharedSource(staged.source, staged.read, output: staged.identity, isProved: staged.isProved)
  }
}
