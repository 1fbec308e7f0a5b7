import BatchCore
import BatchEngine

/// The options of the commands that read archives, in addition to the common ones.
struct ReadingChoices: Sendable {
  /// The words of `--overwrite`.
  static let overwritings = ["never", "newer", "always"]

  let archive: PathBytes
  let names: ChosenNames
  let showsLongRows: Bool
  let showsDigests: Bool
  let usesIndex: Bool
  let readsAllFormats: Bool
  var descriptorsOfReader: Int { readsAllFormats ? ForeignReaderProgram.descriptors : 0 }
  /// How the archive is read.
  var readArchive: ReadArchive {
    var read = ReadArchive(archive)
    if readsAllFormats { read.foreignReader = "/proc/self/exe" }
    read.keys = keys
    return read
  }
  let endsRowsInNUL: Bool
  let directory: PathBytes
  let strip: Int
  let writesToStdout: Bool
  let extraction: ExtractionOptions
  /// Nil if no key for encrypted archives was given.
  let keys: AgeKeys?

  init(_ parsed: ParsedCommand, common: CommonOptions, isRoot: Bool) throws {
    archive = parsed.operands.first ?? "-"
    names = try ChosenNames(parsed.operands.dropFirst(), parsed)
    showsDigests = parsed.flag(.digests)
    // `tar -tv` shows them too.
    showsLongRows = parsed.flag(.longRows) || (common.verbose && !showsDigests)
    readsAllFormats = parsed.flag(.allFormats)
    usesIndex = parsed.flag(.index, initially: true)
    endsRowsInNUL = parsed.flag(.zero)
    directory = parsed.bytes(.directory) ?? "."
    strip = parsed.count(.stripComponents) ?? 0
    writesToStdout = parsed.flag(.toStdout)
    extraction = ExtractionOptions(parsed, common: common, isRoot: isRoot)
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

extension ExtractionOptions {
  init(_ parsed: ParsedCommand, common: CommonOptions, isRoot: Bool) {
    self.init()
    let last = parsed.given.last { [.overwrite, .force, .keep].contains($0.id) }
    replacing =
      switch (last?.id, last?.value) {
      case (.force, _), (.overwrite, .choice("always")): .always
      case (.overwrite, .choice("newer")): .older
      default: .never
      }
    restoresOwner = parsed.flag(.sameOwner, initially: isRoot)
    usesNumericOwner = parsed.flag(.numericOwner)
    restoresAttributes = parsed.flag(.attributes, initially: true)
    restoresPrivileges = parsed.flag(.samePermissions)
    makesDevices = parsed.flag(.devices)
    refusesUnsafeLinks = parsed.flag(.safeLinks)
    keepsGoing = parsed.flag(.keepGoing)
    limits = ArchiveLimits(
      maximumOutput: parsed.size(.maxOutput).map { UInt64(clamping: $0) },
      maximumRatio: parsed.count(.maxRatio).map { UInt64(clamping: $0) })
    pathLimits = common.walk.limits
    isSynced = common.fsync
  }
}
