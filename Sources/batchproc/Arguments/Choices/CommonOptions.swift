import BatchCore
import BatchEngine

/// The options of every command that processes files, as plain values.
struct CommonOptions: Sendable {
  /// A file that lists paths; `-` is standard input.
  struct FileList: Sendable, Hashable {
    let path: PathBytes
    /// Whether paths end in NUL instead of newline.
    let isNULEnded: Bool
  }

  /// nil for `auto`; not yet clamped to what the machine allows.
  let concurrency: Int?
  /// nil for `auto`.
  let stride: Int?
  let maxOpenFiles: Int?
  /// The memory limit in bytes.
  let maxMemory: Int64?
  let maxLoad: LoadLimit?
  /// The most bytes to read a second; nil for no limit.
  let rate: Int64?
  /// Seconds without progress before a report; 0 for never.
  let stallWarning: Int64
  /// Seconds without progress before the run is cancelled; 0 for never.
  let stallTimeout: Int64
  let control: PathBytes?
  /// The path whose device's saved number is the start for `auto`.
  let firstOperand: PathBytes?
  let qos: ProcessPriority
  let fileLists: [FileList]
  /// In the order given: the last rule that matches decides.
  let filterRules: [PathFilter.Rule]
  let excludesVCS: Bool
  /// Without the filter of the rules. The age is in whole seconds, so that all shards of a plan use the same moment.
  private(set) var walk = WalkOptions()
  let maxHole: Int64?
  let policy: EventPolicy
  let progress: ProgressMode
  /// The last one of `--quiet` and `--verbose` wins.
  let quiet: Bool
  let verbose: Bool
  let color: ColorMode
  let json: Bool
  let dryRun: Bool
  let fsync: Bool
  /// Nil if no report is requested, and for a dry run.
  let report: ReportChoice?

  /// - Parameter now: when the run begins, in seconds since 1970.
  init(_ parsed: ParsedCommand, now: Int64 = FileStatus.Time.now.seconds) throws(UsageError) {
    let asked = parsed.given.last { $0.id == .maxConcurrency || $0.id == .threads }
    concurrency = if case .count(let count) = asked?.value { count } else { nil }
    stride = parsed.count(.stride)
    maxOpenFiles = parsed.count(.maxOpenFiles)
    maxMemory = parsed.size(.maxMemory)
    maxLoad = parsed.load(.maxLoad)
    rate = parsed.size(.rate)
    stallWarning = parsed.duration(.stallWarning) ?? 600
    stallTimeout = parsed.duration(.stallTimeout) ?? 0
    control = parsed.bytes(.control)
    firstOperand = parsed.operands.first
    qos = parsed.choice(.qos) ?? .standard
    fileLists = parsed.given.compactMap { option in
      guard case .bytes(let path) = option.value else { return nil }
      switch option.id {
      case .filesFrom: return FileList(path: path, isNULEnded: false)
      case .files0From: return FileList(path: path, isNULEnded: true)
      default: return nil
      }
    }
    filterRules = parsed.given.flatMap { option -> [PathFilter.Rule] in
      switch (option.id, option.value) {
      case (.exclude, .bytes(let value)): [.exclude(value.bytes)]
      case (.include, .bytes(let value)): [.include(value.bytes)]
      case (.excludeFrom, .bytes(let value)): [.excludeFrom(value)]
      case (.excludeVCS, _): Self.versionControlNames.map { .exclude(Array($0.utf8)) }
      default: []
      }
    }
    excludesVCS = parsed.given.contains { $0.id == .excludeVCS }
    walk.skipsCaches = parsed.flag(.excludeCaches)
    walk.readsIgnoreFiles = parsed.flag(.gitignore)
    walk.staysOnFileSystem = parsed.flag(.oneFileSystem)
    walk.followsLinks = parsed.flag(.followSymlinks)
    walk.minimumSize = parsed.size(.minSize)
    walk.maximumSize = parsed.size(.maxSize)
    walk.age = AgeRange(
      before: parsed.moment(.olderThan, now: now), after: parsed.moment(.newerThan, now: now))
    if let levels = parsed.count(.maxLevels) { walk.limits = PathLimits(levels: levels) }
    maxHole = parsed.size(.maxHole)
    policy = parsed.given.reduce(into: EventPolicy()) { policy, option in
      if case .policy(let event, let action) = option.value { policy[event] = action }
    }
    progress = parsed.choice(.progress) ?? .auto
    let loudness = parsed.given.last { $0.id == .quiet || $0.id == .verbose }?.id
    quiet = loudness == .quiet || parsed.flag(.status)
    verbose = loudness == .verbose
    color = parsed.choice(.color) ?? .auto
    json = parsed.flag(.json)
    dryRun = parsed.flag(.dryRun)
    walk.readAheadThreshold = dryRun ? .zero : WalkOptions.usualReadAheadThreshold
    fsync = parsed.flag(.fsync, initially: true)
    let report = try ReportChoice(parsed)
    self.report = dryRun ? nil : report
    try refuseContradictions(parsed)
  }

  /// The names that tar's --exclude-vcs leaves out.
  static let versionControlNames = [
    "CVS/", ".cvsignore", "RCS/", "SCCS/", ".git/", ".gitignore", ".gitmodules", ".gitattributes", ".svn/",
    ".arch-ids/", "{arch}/", "=RELEASE-ID", "=meta-update", "=update", ".bzr", ".bzrignore", ".bzrtags",
    ".hg",
    ".hgignore", ".hgtags", "_darcs",
  ]

  /// Refuses a glob that no name can match, such as one with a bracket that is not closed.
  private func refuseImpossible(_ glob: [UInt8], _ parsed: ParsedCommand) throws(UsageError) {
    guard IgnorePattern(glob) == nil else { return }
    // In a class of its own a bracket stands for itself.
    let escaped = glob.flatMap { $0 == UInt8(ascii: "[") ? Array("[[]".utf8) : [$0] }
    throw UsageError(
      "The pattern \(quote(PathBytes(glob))) can never match.", in: parsed.command,
      correction: IgnorePattern(escaped) == nil
        ? nil : .replace(glob, by: String(decoding: escaped, as: UTF8.self)))
  }

  private func refuseContradictions(_ parsed: ParsedCommand) throws(UsageError) {
    if let least = walk.minimumSize, let most = walk.maximumSize, least > most {
      throw UsageError("No file is as large as --min-size and as small as --max-size.", in: parsed.command)
    }
    if walk.age.isEmpty {
      throw UsageError(
        "No file is as old as --older-than and as new as --newer-than.", in: parsed.command)
    }
    for case .exclude(let glob) in filterRules { try refuseImpossible(glob, parsed) }
    for case .include(let glob) in filterRules { try refuseImpossible(glob, parsed) }
    let lists = fileLists.filter { $0.path == "-" }.count
    let rules = filterRules.filter { $0 == .excludeFrom("-") }.count
    let operands = parsed.operands.contains("-") ? 1 : 0
    if lists + rules > 0, lists + rules + operands > 1 {
      throw UsageError("Standard input ('-') can be read for one purpose only.", in: parsed.command)
    }
  }
}
