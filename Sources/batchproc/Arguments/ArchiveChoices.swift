import BatchCore
import BatchEngine

/// What `archive` is asked for, beside the common options.
struct ArchiveChoices: Sendable {
  static let formats = ArchiveFormat.all.map(\.name)
  /// From the lowest level of any format to the highest one.
  static let levels = ArchiveFormat.all.compactMap(\.levels).reduce(1...1) { all, levels in
    min(all.lowerBound, levels.lowerBound)...max(all.upperBound, levels.upperBound)
  }

  let format: ArchiveFormat
  /// nil for standard output.
  let output: PathBytes?
  let replacesOutput: Bool
  /// Whether the archive is read back before it gets its name.
  let isVerified: Bool
  /// nil for the format's default.
  let level: Int?
  /// Where the paths begin; nil for the current directory.
  let directory: PathBytes?
  let isReproducible: Bool
  /// Seconds since 1970; later times become this one.
  let latestTime: Int64?

  /// - Parameter environment: the value of a variable; nil when it is not set.
  init(_ parsed: ParsedCommand, environment: (String) -> PathBytes?) throws(UsageError) {
    guard let target = parsed.bytes(.output) else {
      throw UsageError(
        "Missing expected option '-o <file>'; '-o -' writes to standard output.", in: parsed.command)
    }
    output = target == "-" ? nil : target
    let named = parsed.choices(.format).last.flatMap(ArchiveFormat.init(named:))
    guard let format = named ?? ArchiveFormat(suffixOf: target) else {
      throw UsageError(
        target == "-"
          ? "Standard output has no suffix that tells the format; please give --format."
          : "The suffix of the output tells no format; please give --format.", in: parsed.command)
    }
    self.format = format
    level = parsed.count(.level)
    replacesOutput = parsed.flag(.force)
    isVerified = parsed.flag(.verify)
    if isVerified, output == nil {
      throw UsageError("Standard output cannot be read back: --verify needs a file.", in: parsed.command)
    }
    directory = parsed.bytes(.directory)
    isReproducible = parsed.flag(.reproducible)
    if let given = parsed.time(.mtime) {
      latestTime = given
    } else if isReproducible, let text = environment("SOURCE_DATE_EPOCH"), !text.isEmpty {
      guard let seconds = wholeNumber(text.bytes).flatMap(Int64.init(exactly:)) else {
        throw UsageError("SOURCE_DATE_EPOCH is not a number of seconds.", in: parsed.command)
      }
      latestTime = seconds
    } else {
      latestTime = nil
    }
    if let level {
      guard let range = format.levels else {
        throw UsageError("The format '\(format.name)' has no levels.", in: parsed.command)
      }
      guard range.contains(level) else {
        throw UsageError(
          "The level \(level) is not one of '\(format.name)', which has \(range.lowerBound) to \(range.upperBound).",
          in: parsed.command)
      }
    }
  }
}
