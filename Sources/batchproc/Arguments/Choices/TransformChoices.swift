import BatchCore
import BatchEngine
import BatchOutputs

/// The options of `compress`, `decompress` and `test`, in addition to the common ones.
struct TransformChoices: Sendable {
  static let formats = CompressionFormat.writable.map(\.rawValue)
  /// Names of the stock tools.
  static let formatAliases: [ValueSyntax.Alias] = CompressionFormat.writable.map {
    .init($0.toolName, $0.rawValue)
  }

  /// `gz 6, zst 3`
  static let defaultLevels = CompressionFormat.writable.map { "\($0.rawValue) \($0.defaultLevel)" }
    .joined(separator: ", ")
  /// `gz 0 to 12 (0 stores), zst 1 to 22`
  static let levels = CompressionFormat.writable.map { format in
    "\(format.rawValue) \(format.levels.lowerBound) to \(format.levels.upperBound)"
      + (format.levelRemark.map { " (\($0))" } ?? "")
  }.joined(separator: ", ")
  /// The formats whose fastest level is not the lowest one: `gz: 1`.
  static let fastestLevels = CompressionFormat.writable.filter { $0.fastestLevel != $0.levels.lowerBound }
    .map { "\($0.rawValue): \($0.fastestLevel)" }.joined(separator: ", ")
  /// The formats whose best level is not the highest one: `zst: 19`.
  static let bestLevels = CompressionFormat.writable.filter { $0.bestLevel != $0.levels.upperBound }
    .map { "\($0.rawValue): \($0.bestLevel)" }.joined(separator: ", ")

  let format: CompressionFormat
  /// nil for the format's default.
  let level: Int?
  private(set) var outputs: OutputOptions
  var writesToStdout: Bool { outputs.writesToStream }
  /// In bytes; nil for no limit.
  let maximumOutput: Int64?

  /// - Parameters:
  ///   - compresses: whether the outputs are compressed.
  ///   - writesToStdout: whether all outputs go to standard output; nil if an option decides.
  init(
    _ parsed: ParsedCommand, compresses: Bool, writesToStdout: Bool? = nil
  ) throws(UsageError) {
    format = parsed.choices(.format).last.flatMap(CompressionFormat.init(rawValue:)) ?? .gz
    level = Self.level(parsed, of: format)
    let suffix = parsed.bytes(.suffix) ?? PathBytes(format.suffix)
    let directory = parsed.bytes(.outputDirectory)
    outputs = OutputOptions(
      naming: OutputNaming(compresses ? .adding(suffix: suffix) : .decompressing, directory: directory))
    // The last one of --keep and --remove-source wins.
    let last = parsed.given.last { $0.id == .keep || $0.id == .removeSource }
    outputs.removesSource = last?.id == .removeSource
    outputs.writesToStream = writesToStdout ?? parsed.flag(.toStdout)
    outputs.copiesOthers = parsed.flag(.copyOthers)
    let updates = compresses ? parsed.flag(.replace, initially: true) : parsed.flag(.update)
    outputs.replacesUnmarked = compresses && parsed.flag(.replace)
    outputs.replacing = parsed.flag(.force) ? .always : updates ? .older : .never
    outputs.compressesAll = parsed.flag(.compressAll)
    maximumOutput = parsed.size(.maxOutput)
    let range = format.levels
    if let level, !range.contains(level) {
      throw UsageError(
        "'\(format.rawValue)' has no level \(level): it has \(range.lowerBound) to \(range.upperBound).",
        in: parsed.command)
    }
    if outputs.writesToStream, outputs.removesSource || directory != nil {
      let other = outputs.removesSource ? "--remove-source" : "--output-dir"
      throw UsageError("--stdout cannot be used with \(other): no file is written.", in: parsed.command)
    }
    if outputs.copiesOthers, directory == nil {
      throw UsageError("--copy-others needs --output-dir.", in: parsed.command)
    }
    if suffix.bytes.contains(UInt8(ascii: "/")) {
      throw UsageError("The suffix has to be a part of a name, without '/'.", in: parsed.command)
    }
  }

  /// The last requested level, in any of its spellings; nil if none.
  private static func level(_ parsed: ParsedCommand, of format: CompressionFormat) -> Int? {
    switch parsed.given.last(where: { [.level, .fastest, .best].contains($0.id) })?.id {
    case .fastest: format.fastestLevel
    case .best: format.bestLevel
    case .level: parsed.count(.level)
    default: nil
    }
  }
}
