import BatchEngine

/// A standard container of compressed data that this library reads; most of them it writes too.
///
/// The raw value is the suffix of file names without its dot, and the name on the command line.
package enum CompressionFormat: String, Sendable, Hashable, CaseIterable {
  /// gzip members, RFC 1952.
  case gz
  /// Zstandard frames, RFC 8878.
  case zst
  /// The .xz file format 1.1.0.
  case xz
  /// The LZ4 frame format 1.6.3.
  case lz4
  /// bzip2 streams; written for archives alone.
  case bz2
  /// Members of lzip; never written.
  case lz
  /// What xz(1) calls "LZMA alone"; never written.
  case lzma
  /// What compress(1) makes; never written.
  case lzw = "Z"

  /// The formats that single files are written in.
  package static let allCases: [CompressionFormat] = [.gz, .zst, .xz, .lz4]

  /// - Parameter name: the suffix without its dot, or the name of the stock tool; ASCII case is ignored.
  /// - Throws: `.invalid` for every other name.
  package init(named name: String) throws(BatchError) {
    let name = name.lowercased()
    guard let format = Self.allCases.first(where: { name == $0.rawValue || name == $0.toolName }) else {
      throw BatchError(
        .invalid, "unknown compression format '\(name)'", remedy: "use one of gz, zst, xz, lz4")
    }
    self = format
  }

  /// What is added to the name of a compressed file, with its dot.
  package var suffix: String { "." + rawValue }

  /// The program that everybody has for the format.
  package var toolName: String {
    switch self {
    case .gz: "gzip"
    case .zst: "zstd"
    case .xz: "xz"
    case .lz4: "lz4"
    case .bz2: "bzip2"
    case .lz: "lzip"
    case .lzma: "lzma"
    case .lzw: "compress"
    }
  }

  /// Whether something behind the end is not damage: the stock tool passes over it.
  var mayHaveGarbage: Bool { self == .gz || self == .bz2 || self == .lz }

  /// Why the format is not written.
  private var readOnlyError: BatchError {
    BatchError(.invalid, "\(toolName) data is read and not written", remedy: "use one of gz, zst, xz, lz4")
  }

  /// The levels that can be asked for, fastest first; they mean what they mean to the stock tool. gzip's go
  /// on to 12, as libdeflate's do, and 0 stores the bytes as they are.
  package var levels: ClosedRange<Int> {
    switch self {
    case .gz: 0...12
    case .lz4: 1...12
    case .bz2: 1...9
    case .zst: 1...22
    case .xz: 0...9
    case .lz, .lzma, .lzw: 0...0
    }
  }

  /// The level when none is asked for, which is the stock tool's.
  package var defaultLevel: Int {
    switch self {
    case .gz, .xz: 6
    case .zst: 3
    case .lz4: 1
    case .bz2: 9
    case .lz, .lzma, .lzw: 0
    }
  }

  /// - Parameter level: the level that was asked for, or nil for the default.
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
  ///   - check: asked again and again in calls that take long; what it throws ends the call.
  /// - Throws: `.invalid` for another level and for a format that is only read, `.exhausted` when memory is missing.
  package func makeContext(
    level: Int? = nil, checking check: @escaping () throws(BatchError) -> Void = {}
  ) throws(BatchError) -> any CodecContext {
    let level = try checkedLevel(level)
    return switch self {
    case .gz: try GzipContext(level: level)
    case .zst: try ZstdContext(level: level, checking: check)
    case .xz: XZContext(level: level, checking: check)
    case .lz4: try LZ4Context(level: level)
    case .bz2: BZip2Context(level: level)
    case .lz, .lzma, .lzw: throw readOnlyError
    }
  }

  /// A decoder for one thread.
  ///
  /// - Throws: `.exhausted` when memory is missing.
  package func makeDecoder(
    _ options: DecoderOptions = DecoderOptions(), by right: ReadingRight
  ) throws(BatchError) -> StreamDecoder {
    let decoder: any FrameDecoder =
      switch self {
      case .gz: try GzipFrameDecoder()
      case .zst: try ZstdFrameDecoder(windowLog: options.windowLog)
      case .xz: XZFrameDecoder(memoryLimit: options.memoryLimit)
      case .lz4: try LZ4FrameDecoder()
      case .bz2: BZip2FrameDecoder()
      case .lz: LzipFrameDecoder(memoryLimit: options.memoryLimit)
      case .lzma: LZMAFrameDecoder(memoryLimit: options.memoryLimit)
      case .lzw: LZWFrameDecoder()
      }
    return try StreamDecoder(self, decoder, options)
  }
}
