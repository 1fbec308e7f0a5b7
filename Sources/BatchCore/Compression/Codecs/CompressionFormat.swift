import BatchEngine

/// A standard container of compressed data that this library reads; most of them it writes too.
///
/// The raw value is the suffix of file names without its dot, and the name on the command line. Everything else about a format
/// is in its descriptor, `codec`.
public enum CompressionFormat: String, Sendable, Hashable, CaseIterable {
  /// gzip members, RFC 1952.
  case gz
  /// Zstandard frames, RFC 8878.
  case zst
  /// The .xz file format 1.1.0.
  case xz
  /// The LZ4 frame format 1.6.3.
  case lz4
  /// bzip2 streams.
  case bz2
  /// Files of compress(1).
  case lzw = "Z"
  /// Members of lzip.
  case lz
  /// Files in the format that xz(1) calls "LZMA alone".
  case lzma

  var codec: any CodecDescriptor.Type {
    switch self {
    case .gz: GzipCodec.self
    case .zst: ZstdCodec.self
    case .xz: XZCodec.self
    case .lz4: LZ4Codec.self
    case .bz2: BZip2Codec.self
    case .lzw: LZWCodec.self
    case .lz: LzipCodec.self
    case .lzma: LZMACodec.self
    }
  }

  /// The formats in which single files can be written.
  public static let writable = allCases.filter { $0.codec.use == .files }

  static let writableRemedy: Remedy = "use one of \(writable.map(\.rawValue).joined(separator: ", "))"

  /// - Parameter name: the suffix without its dot, or the name of the stock tool; ASCII case is ignored.
  /// - Throws: `.invalid` for every other name.
  package init(named name: String) throws(BatchError) {
    let name = name.lowercased()
    guard let format = Self.writable.first(where: { name == $0.rawValue || name == $0.toolName }) else {
      throw BatchError(.invalid, "unknown compression format '\(name)'", remedy: Self.writableRemedy)
    }
    self = format
  }

  /// The suffix of compressed files, with its dot.
  public var suffix: String { "." + rawValue }

  /// The stock program of the format.
  package var toolName: String { codec.toolName }

  /// How help texts name the format.
  package var title: String { codec.title }

  /// The available levels, fastest first, with the numbers of the stock tool.
  public var levels: ClosedRange<Int> { codec.levels }

  /// The default level, the same as in the stock tool.
  public var defaultLevel: Int { codec.defaultLevel }

  /// The level for the highest speed.
  package var fastestLevel: Int { codec.fastestLevel }

  /// The level for the smallest size.
  package var bestLevel: Int { codec.bestLevel }

  /// A remark about the levels for help texts; nil if the range is enough.
  package var levelRemark: String? { codec.levelRemark }

  /// - Parameter level: the requested level, or nil for the default.
  /// - Throws: `.invalid` for a level that the format does not have.
  package func checkedLevel(_ level: Int?) throws(BatchError) -> Int {
    let level = level ?? defaultLevel
    guard levels.contains(level) else {
      throw BatchError(
        .invalid, "level \(level) is not one of \(toolName)'s",
        remedy: "use \(levels.lowerBound) to \(levels.upperBound)")
    }
    return level
  }

  /// A compressor for one thread.
  ///
  /// - Parameters:
  ///   - level: one of ``levels``, or nil for ``defaultLevel``.
  ///   - check: called repeatedly during long calls; an error that it throws ends the call.
  /// - Throws: `.invalid` for another level and for a format that is only read, `.exhausted` when memory is missing.
  package func makeContext(
    level: Int? = nil, checking check: @escaping () throws(BatchError) -> Void = {}
  ) throws(BatchError) -> any CodecContext {
    try codec.makeContext(level: checkedLevel(level), checking: check)
  }

  /// The most bytes that one operation takes while it compresses: its codec context, and three blocks: read, compressed and
  /// waiting.
  ///
  /// - Throws: `.invalid` for a level that the format does not have, and for a format that is only read.
  package func memoryOfLane(level: Int?) throws(BatchError) -> Int {
    let level = try checkedLevel(level)
    return try codec.contextMemory(level: level) + 3 * codec.blockSize(level: level)
  }
}
