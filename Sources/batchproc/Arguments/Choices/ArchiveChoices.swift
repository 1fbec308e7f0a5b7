import BatchCore
import BatchEngine
import BatchOutputs

/// The options of `archive`, in addition to the common ones.
struct ArchiveChoices: Sendable {
  static let formats = ArchiveFormat.all.map(\.name)
  /// Other usual names of the formats, in lower case.
  static let formatAliases: [ValueSyntax.Alias] =
    [.init("pax", "tar"), .init("7zip", "7z")]
    + ArchiveFormat.all.flatMap { format in
      let compression = format.compression.map { [$0.toolName, $0.rawValue] } ?? []
      return (compression + format.shortSuffixes).map { ValueSyntax.Alias($0, format.name) }
    }

  /// Treats the first operand as the archive if it has an archive suffix; otherwise names the archive after the operand.
  private static func correction(_ parsed: ParsedCommand) -> Correction? {
    guard let first = parsed.operands.first else { return nil }
    if parsed.operands.count > 1, ArchiveFormat(suffixOf: first) != nil {
      return .insert(["-o", first], taking: first, in: parsed.command)
    }
    let suffix = "." + (formatName(parsed) ?? "tar.zst")
    let name = first.lastComponent
    guard !name.isEmpty, !name.allSatisfy({ $0 == UInt8(ascii: ".") }) else { return nil }
    return .insert(["-o", PathBytes(Array(name) + Array(suffix.utf8))], taking: nil, in: parsed.command)
  }

  private(set) var options: ArchiveOptions
  /// nil for standard output.
  let output: PathBytes?
  let replacesOutput: Bool
  /// Whether the archive is read back before it is renamed.
  var isVerified: Bool { options.isRemembered }
  /// How much recovery data are made; nil for none.
  let parity: ParityOptions?
  /// The directory in which paths begin; nil for the current directory.
  let directory: PathBytes?
  /// Nil for an unencrypted archive.
  let lock: AgeLock?

  init(_ parsed: ParsedCommand, environment: Environment) throws {
    guard let target = parsed.bytes(.output) else {
      throw UsageError(
        "Missing expected option '-o <file>'; '-o -' writes to standard output.", in: parsed.command,
        correction: Self.correction(parsed))
    }
    output = target == "-" ? nil : target
    lock = try EncryptionChoices.lock(parsed)
    parity = try ParityOptions(parsed)
    if parity != nil, output == nil {
      throw UsageError("--parity needs a file: -o - has no name for recovery data.", in: parsed.command)
    }
    let named = Self.formatName(parsed).flatMap(ArchiveFormat.init(named:))
    let suffix = Array(".age".utf8)
    let isNamedEncrypted = target.lastComponent.suffix(suffix.count).elementsEqual(suffix)
    if isNamedEncrypted, lock == nil {
      throw UsageError(
        "The name of the output ends in .age; please say for whom it is encrypted with --encrypt-to.",
        in: parsed.command)
    }
    let inner = isNamedEncrypted ? PathBytes(target.bytes.dropLast(suffix.count)) : target
    guard let format = named ?? ArchiveFormat(suffixOf: inner) else {
      throw UsageError(
        target == "-"
          ? "Standard output has no suffix that shows the format; use --format."
          : """
          Cannot tell the format from \(quote(PathBytes(target.lastComponent))); use --format with one of \
          \(ArchiveFormat.all.map(\.name).joined(separator: ", ")).
          """,
        in: parsed.command)
    }
    options = ArchiveOptions(format: format)
    options.level = parsed.count(.level)
    options.isRemembered = parsed.flag(.verify)
    options.isReproducible = parsed.flag(.reproducible)
    options.changes = try Self.changes(parsed)
    replacesOutput = parsed.flag(.force)
    directory = parsed.bytes(.directory)
    if isVerified, output == nil {
      throw UsageError("Standard output cannot be read back: --verify needs a file.", in: parsed.command)
    }
    if let given = parsed.time(.mtime) {
      options.latestTime = given
    } else if options.isReproducible, let text = environment("SOURCE_DATE_EPOCH"), !text.isEmpty {
      guard let seconds = DecimalDigits.value(of: text.bytes).flatMap(Int64.init(exactly:)) else {
        throw UsageError("SOURCE_DATE_EPOCH is not a number of seconds.", in: parsed.command)
      }
      options.latestTime = seconds
    }
    if let level = options.level {
      guard let range = format.levels else {
        throw UsageError("The format '\(format.name)' has no levels.", in: parsed.command)
      }
      guard range.contains(level) else {
        throw UsageError(
          "'\(format.name)' has no level \(level): it has \(range.lowerBound) to \(range.upperBound).",
          in: parsed.command)
      }
    }
  }
  /// The last requested format, by name or by a letter of tar; nil if none.
  private static func formatName(_ parsed: ParsedCommand) -> String? {
    switch parsed.given.last(where: { [.format, .gzip, .zstd, .xz].contains($0.id) })?.id {
    case .gzip: "tar.gz"
    case .zstd: "tar.zst"
    case .xz: "tar.xz"
    case .format: parsed.choices(.format).last
    default: nil
    }
  }

  private static func changes(_ parsed: ParsedCommand) throws(UsageError) -> MemberChanges {
    var changes = MemberChanges()
    for option in parsed.given {
      guard case .bytes(let value) = option.value else { continue }
      do throws(BatchError) {
        switch option.id {
        case .owner: changes.owner = try OwnerChange(value, isGroup: false)
        case .group: changes.group = try OwnerChange(value, isGroup: true)
        case .mode: changes.mode = try ModeChange(value, umask: 0o777 & ~AtomicFile.folderPermissions)
        case .transform: changes.names.append(try NameTransform(value))
        default: continue
        }
      } catch {
        throw UsageError(
          "The value \(quote(value)) is invalid for '--\(option.id.rawValue)': \(error.message).",
          in: parsed.command)
      }
    }
    return changes
  }
}
