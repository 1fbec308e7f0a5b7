import BatchCore

/// What `compress`, `decompress` and `test` are asked for, beside the common options.
struct TransformChoices: Sendable {
  static let formats = CompressionFormat.allCases.map(\.rawValue)

  let format: CompressionFormat
  /// nil for the format's default.
  let level: Int?
  let suffix: PathBytes?
  let outputDirectory: PathBytes?
  let removesSource: Bool
  let force: Bool
  let compressesAll: Bool
  /// In bytes; nil for no limit.
  let maximumOutput: Int64?

  init(_ parsed: ParsedCommand) {
    format = parsed.choices(.format).last.flatMap(CompressionFormat.init(rawValue:)) ?? .gz
    level = parsed.count(.level)
    suffix = parsed.bytes(.suffix)
    outputDirectory = parsed.bytes(.outputDirectory)
    removesSource = parsed.flag(.removeSource)
    force = parsed.flag(.force)
    compressesAll = parsed.flag(.compressAll)
    maximumOutput = parsed.size(.maxOutput)
  }
}
