import BatchCore
import BatchEngine

struct SnapshotsCommand: Command {
  /// The requested information about snapshots.
  private enum Question {
    case which
    case digests(SnapshotPlace?)
    case find(ChosenNames)
    case list(SnapshotPlace, ChosenNames)
    case compare(SnapshotPlace, with: SnapshotPlace)
  }

  private let choices: BackupChoices
  private let question: Question
  let showsLongRows: Bool
  let showsDigests: Bool
  let endsRowsInNUL: Bool
  /// The age limit in seconds.
  private let maxAge: Int64?
  private let completeOnly: Bool
  private let showsUsage: Bool
  /// Where this machine stores its state of encrypted sets.
  private let state: StatePlace?
  let session: Session

  /// - Throws: `UsageError` for requests that exclude each other, and for operands that none of them accepts.
  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    choices = try BackupChoices(parsed, directory: parsed.operands.first ?? ".")
    showsLongRows = parsed.flag(.longRows) || common.verbose
    showsDigests = parsed.flag(.digests)
    endsRowsInNUL = parsed.flag(.zero)
    if endsRowsInNUL, parsed.bytes(.find) == nil, parsed.bytes(.listFiles) == nil {
      throw UsageError("--zero needs --find or --list.", in: parsed.command)
    }
    let now = FileStatus.Time.now.seconds
    maxAge = parsed.moment(.maxAge, now: now).map { now - $0.seconds }
    completeOnly = parsed.flag(.complete)
    guard maxAge != nil || !completeOnly else {
      throw UsageError("--complete needs --max-age.", in: parsed.command)
    }
    showsUsage = parsed.flag(.usage)
    state = StateFile.place("manifests", environment: environment)
    let question = try Self.question(parsed, choices)
    self.question = question
    session = try Session(
      common, environment: environment,
      setApart: { options in
        // Each manifest is a separate chunk.
        if case .find = question { options.stride = .fixed(1) }
      })
  }

  private static func question(
    _ parsed: ParsedCommand, _ choices: BackupChoices
  ) throws(UsageError) -> Question {
    let asked = [OptionID.find, .listFiles, .compareSnapshots].filter { parsed.bytes($0) != nil }
    guard asked.count < 2 else {
      throw UsageError("Only one of --find, --list and --diff can be used.", in: parsed.command)
    }
    guard !parsed.flag(.usage) || asked.isEmpty && !parsed.flag(.digests) else {
      throw UsageError("--usage shows a column of the list of snapshots.", in: parsed.command)
    }
    let others = Array(parsed.operands.dropFirst())
    if let id = parsed.bytes(.listFiles) {
      return .list(try BackupChoices.place(id, "'--list'", parsed), try ChosenNames(others, parsed))
    }
    if let id = parsed.bytes(.compareSnapshots) {
      guard others.count < 2 else {
        throw UsageError("--diff compares two snapshots: '--diff ID1 ID2'.", in: parsed.command)
      }
      let second = try others.first.map { (id) throws(UsageError) in
        try BackupChoices.place(id, "the second operand", parsed)
      }
      return .compare(try BackupChoices.place(id, "'--diff'", parsed), with: second ?? .latest)
    }
    if let other = others.first {
      let hint =
        parsed.bytes(.find) != nil
        ? "please quote the glob of --find" : "use --find GLOB, or --list ID GLOB"
      throw UsageError("Unexpected argument \(quote(other)): \(hint).", in: parsed.command)
    }
    if let glob = parsed.bytes(.find) { return .find(try ChosenNames([glob], parsed)) }
    return parsed.flag(.digests) ? .digests(choices.place) : .which
  }

  func run() throws(BatchError) -> Ending {
    let sources: [SetSource]
    do throws(BatchError) {
      sources = try SetSource.all(choices, state: state, session)
    } catch {
      guard maxAge != nil, error.code == .missing else { throw error }
      return session.difference(error)
    }
    switch question {
    case .which:
      return try SnapshotRows(
        session: session, choices: choices, names: sources.map(\.set.name), maxAge: maxAge,
        completeOnly: completeOnly, showsUsage: showsUsage
      ).list(sources)
    case .digests(let place):
      let (source, snapshots) = try chosen(sources, [place])
      BackupChoices.tell(snapshots[0], place, "--at", in: session)
      return try showDigests(of: snapshots[0], in: source.set)
    case .find(let names):
      return try SnapshotFinder(
        session: session, names: sources.map(\.set.name), endsRowsInNUL: endsRowsInNUL
      ).find(names, in: sources, choices)
    case .list(let place, let names):
      let (source, snapshots) = try chosen(sources, [place])
      BackupChoices.tell(snapshots[0], place, "--list", in: session)
      return try list(snapshots[0], of: source.set, names)
    case .compare(let first, let second):
      let (source, snapshots) = try chosen(sources, [first, second])
      for (snapshot, place) in zip(snapshots, [first, second]) {
        BackupChoices.tell(snapshot, place, "--diff", in: session)
      }
      return try compare(snapshots, of: source.set)
    }
  }

  /// The set of some snapshots, and these snapshots.
  private func chosen(
    _ sources: [SetSource], _ places: [SnapshotPlace?]
  ) throws(BatchError) -> (SetSource, [Snapshot]) {
    var found: [(SetSource, [Snapshot])] = []
    for source in sources {
      do throws(BatchError) {
        let content = try source.set.opened(source.content(), in: session.context)
        let snapshots = try places.map { (place) throws(BatchError) in
          try content.snapshot(at: place, of: choices.series)
        }
        found.append((source, snapshots))
      } catch {
        guard sources.count > 1, error.code == .missing || error.code == .ambiguous else { throw error }
      }
    }
    if found.count == 1 { return found[0] }
    let names = sources.map(\.set.name.description).joined(separator: ", ")
    throw BatchError(
      found.isEmpty ? .missing : .invalid,
      found.isEmpty
        ? "no set in this folder (\(names)) has such a snapshot"
        : "several sets in this folder (\(names)) fit",
      path: choices.directory, remedy: .chooseSet)
  }
}
