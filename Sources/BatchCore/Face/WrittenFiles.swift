import BatchEngine
import BatchOutputs

extension Batch {
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

    mutating func add(_ report: TransformReport, most: Int) {
      counts.add(report)
      guard outputs.count < most,
        case .written(let path, let plain, let compressed) = report.outcome
      else { return }
      outputs.append(
        Output(
          source: report.source, path: path, sourceSize: isDecompressed ? compressed : plain,
          size: isDecompressed ? plain : compressed))
    }
  }
}
