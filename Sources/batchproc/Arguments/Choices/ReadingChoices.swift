import BatchCore
import BatchEngine

/// The options of the commands that read archives, in addition to the common ones.
struct ReadingChoices: Sendable {
  static let overwritings = ExtractionOptions.Overwriting.allCases.map(\.rawValue)

  let archive: PathBytes
  let globs: [PathBytes]
  let showsLongRows: Bool
  let showsDigests: Bool
  let usesIndex: Bool
  let readsAllFormats: Bool
  var descriptorsOfReader: Int { readsAllFormats ? ForeignReaderProgram.descriptors : 0 }
  let endsRowsInNUL: Bool
  let directory: PathBytes
  let strip: Int
  let writesToStdout: Bool
  let extraction: ExtractionOptions
  /// Nil if no key for encrypted archives was given.
  let keys: AgeKeys?

  init(_ parsed: ParsedCommand, common: CommonOptions, isRoot: Bool) throws {
    archive = parsed.operands.first ?? "-"
    globs = Array(parsed.operands.dropFirst())
    showsDigests = parsed.flag(.digests)
    // As in 'tar -tv'.
    showsLongRows = parsed.flag(.longRows) || (common.verbose && !showsDigests)
    readsAllFormats = parsed.flag(.allFormats)
    usesIndex = parsed.flag(.index, initially: true)
    endsRowsInNUL = parsed.flag(.zero)
    directory = parsed.bytes(.directory) ?? "."
    strip = parsed.count(.stripComponents) ?? 0
    writesToStdout = parsed.flag(.toStdout)
    var options = ExtractionOptions()
    options.overwriting =
      switch parsed.given.last(where: { [.overwrite, .force, .keep].contains($0.id) })?.id {
      case .force: .always
      case .overwrite: parsed.choice(.overwrite) ?? .never
      default: .never
      }
    options.restoresOwner = parsed.flag(.sameOwner, initially: isRoot)
    options.usesNumericOwner = parsed.flag(.numericOwner)
    options.restoresAttributes = parsed.flag(.attributes, initially: true)
    options.restoresPrivileges = parsed.flag(.samePermissions)
    options.makesDevices = parsed.flag(.devices)
    options.refusesUnsafeLinks = parsed.flag(.safeLinks)
    options.keepsGoing = parsed.flag(.keepGoing)
    options.limits = ArchiveLimits(
      maximumOutput: parsed.size(.maxOutput).map { UInt64(clamping: $0) },
      maximumRatio: parsed.count(.maxRatio).map { UInt64(clamping: $0) })
    options.pathLimits = common.pathLimits
    options.isSynced = common.fsync
    extraction = options
    keys = try EncryptionChoices.keys(parsed)
    if showsLongRows, showsDigests {
      throw UsageError("--long and --digests cannot be used together: their rows differ.", in: parsed.command)
    }
    if writesToStdout, common.json {
      throw UsageError(
        "--json cannot be used with --to-stdout: standard output carries the contents.", in: parsed.command)
    }
  }
}
