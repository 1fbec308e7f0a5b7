import BatchEngine
import BatchOutputs

extension Batch {
  /// A source of a call that writes one output for each source.
  public struct TransformedFile: Sendable, Hashable {
    /// What became of the source. Sizes are in bytes.
    public enum Result: Sendable, Hashable {
      case written(PathBytes, sourceSize: Int64, size: Int64)
      /// Its output is as new as the source.
      case upToDate
      /// The source is compressed already.
      case compressedAlready
      /// There is no output because it would not be smaller.
      case notSmaller
      /// The output is a link, because the source is a further name of a file.
      case linked(PathBytes)
      /// The source was copied as it is.
      case copied(PathBytes, size: Int64)
    }

    public let source: PathBytes
    public let result: Result
  }

  /// The outputs of a call that writes one for each source.
  public struct WrittenFiles: Sendable {
    /// One output.
    public struct Output: Sendable, Hashable {
      public let source: PathBytes
      public let path: PathBytes
      /// The size of the source in bytes.
      public let sourceSize: Int64
      /// The size of the output in bytes.
      public let size: Int64
    }

    /// The outputs that were written, in the order of the tree, at most ``Settings/mostListed``.
    public internal(set) var outputs: [Output] = []
    private var counts = TransformCounts()
    private let isDecompressed: Bool

    init(decompressed: Bool = false) {
      isDecompressed = decompressed
    }

    /// How many outputs were written; links and copies are counted separately.
    public var written: Int { counts.written }
    /// How many of these replaced an existing file.
    public var replaced: Int { counts.replaced }
    /// How many sources have an output that is as new as they are.
    public var upToDate: Int { counts.upToDate }
    /// How many sources are compressed already.
    public var compressedAlready: Int { counts.compressedAlready }
    /// How many sources have no output because it would not be smaller.
    public var notSmaller: Int { counts.notSmaller }
    /// How many outputs are links, because their sources are names of one file.
    public var linked: Int { counts.linked }
    /// How many sources were copied as they are.
    public var copied: Int { counts.copied }
    /// Bytes of the sources of the outputs that were written.
    public var bytesRead: Int64 { isDecompressed ? counts.compressedBytes : counts.plainBytes }
    /// Bytes of the outputs that were written.
    public var bytesWritten: Int64 { isDecompressed ? counts.plainBytes : counts.compressedBytes }

    /// - Returns: the row of the source.
    mutating func add(_ report: TransformReport, most: Int) -> TransformedFile? {
      counts.add(report)
      let row = TransformedFile(report, isDecompressed: isDecompressed)
      if outputs.count < most, case .written(let path, let sourceSize, let size) = row?.result {
        outputs.append(Output(source: report.source, path: path, sourceSize: sourceSize, size: size))
      }
      return row
    }
  }
}

extension Batch.TransformedFile {
  /// Nil for a source that would be processed.
  init?(_ report: TransformReport, isDecompressed: Bool) {
    source = report.source
    switch report.outcome {
    case .written(let path, let plain, let compressed):
      result = .written(
        path, sourceSize: isDecompressed ? compressed : plain, size: isDecompressed ? plain : compressed)
    case .upToDate: result = .upToDate
    case .compressedAlready: result = .compressedAlready
    case .notSmaller: result = .notSmaller
    case .linked(let path): result = .linked(path)
    case .copied(let path, let size): result = .copied(path, size: size)
    case .planned: return nil
    }
  }
}
