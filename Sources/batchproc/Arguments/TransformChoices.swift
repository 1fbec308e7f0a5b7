import BatchCore
import BatchEngine

/// What `compress`, `decompress` and `test` are asked for, beside the common options.
struct TransformChoices: Sendable {
  static let formats = CompressionFormat.allCases.map(\.rawValue)
  /// From the lowest level of any format to the highest one.
  static let levels = CompressionFormat.allCases.reduce(1...1) { all, format in
    min(all.lowerBound, format.levels.lowerBound)...max(all.upperBound, format.levels.upperBound)
  }

  let format: CompressionFormat
  /// nil for the format's default.
  let level: Int?
  let suffix: PathBytes
  let outputDirectory: PathBytes?
  let removesSource: Bool
  let force: Bool
  let compressesAll: Bool
  /// In bytes; nil for no limit.
  let maximumOutput: Int64?

  init(_ parsed: ParsedCommand) throws(UsageError) {
    format = parsed.choices(.format).last.flatMap(CompressionFormat.init(rawValue:)) ?? .gz
    level = parsed.count(.level)
    suffix = parsed.bytes(.suffix) ?? PathBytes(format.suffix)
    outputDirectory = parsed.bytes(.outputDirectory)
    removesSource = parsed.flag(.removeSource)
    force = parsed.flag(.force)
    compressesAll = parsed.flag(.compressAll)
    maximumOutput = parsed.size(.maxOutput)
    let range = format.levels
    if let level, !range.contains(level) {
      throw UsageError(
        "The level \(level) is not one of '\(format.rawValue)', which has \(range.lowerBound) to \(range.upperBound).",
        in: parsed.command)
    }
    if suffix.bytes.contains(UInt8(ascii: "/")) {
      throw UsageError("The suffix has to be a part of a name, without '/'.", in: parsed.command)
    }
  }
}
