import BatchCore
import BatchEngine

/// The options of `check`, in addition to the common ones (which include `--quiet`).
struct CheckOptions: Sendable {
  let reading: ManifestReader.Options
  let printsNoRows: Bool
  let warnsOfBadLines: Bool
  let failsOnBadLines: Bool
  let escapesControls: Bool
  let ignoresMissing: Bool
  let ignoresMalformed: Bool
  let directory: PathBytes?

  init(_ parsed: ParsedCommand) {
    reading = ManifestReader.Options(
      zero: parsed.flag(.zero),
      algorithm: parsed.choices(.algorithm).last.flatMap(DigestAlgorithm.init(rawValue:)))
    printsNoRows = parsed.flag(.status)
    warnsOfBadLines = parsed.flag(.warn)
    failsOnBadLines = parsed.flag(.strict)
    escapesControls = parsed.flag(.escape)
    ignoresMissing = parsed.flag(.ignoreMissing)
    ignoresMalformed = parsed.flag(.ignoreMalformed)
    directory = parsed.bytes(.directory)
  }
}
