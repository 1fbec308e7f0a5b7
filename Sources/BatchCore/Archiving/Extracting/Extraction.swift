import BatchEngine
import Synchronization

/// One archive on its way into one folder: what its source, its job and its end have in common.
public final class Extraction: Sendable {
  struct State {
    var steps = DeferredSteps()
    /// Hashes of the places of members of which nothing was made, or for which what was there stays.
    var unmade: Set<Int> = []
    var late: [(problem: Problem, severity: Severity)] = []
    var told: EntryMetadata.Losses = []
    var remarks: [String] = []
    var isCutShort = false
    var isDamaged = false
    var madeSafe = 0
    var misdescribed = 0
  }

  /// What messages about all of it name.
  public let archive: ArchiveFile
  let folder: ExtractionFolder
  let options: ExtractionOptions
  let planner: ExtractionPlanner
  private let owners = OwnerNumbers()
  let state = Mutex(State())

  /// - Parameters:
  ///   - folder: has to exist.
  ///   - globs: the members that are meant; none means all.
  ///   - strip: how many leading names of each path are dropped.
  /// - Throws: the error of opening the folder; `invalid` for a pattern that can never match.
  public init(
    _ archive: ArchiveFile, into folder: PathBytes, globs: [PathBytes], strip: Int, options: ExtractionOptions
  ) throws(BatchError) {
    self.archive = archive
    self.options = options
    self.folder = try ExtractionFolder(folder, holding: options.foldersHeldOpen)
    planner = ExtractionPlanner(try MemberSelection(globs: globs, strip: strip), globs: globs)
  }

  /// Patterns that no member matched.
  public var unmatched: [PathBytes] { planner.unmatched }

  /// Whether absolute names were made relative.
  public var strippedSlash: Bool { planner.strippedSlash }

  /// What is odd about the archive, and did not keep a member from being read.
  public var remarks: [String] { state.withLock { $0.remarks } }

  /// Whether reading ended before the archive did.
  public var isCutShort: Bool { state.withLock { $0.isCutShort } }

  /// Whether a part of the archive is damaged, also where members behind it were extracted.
  public var isDamaged: Bool { state.withLock { $0.isDamaged } }

  /// How many members were made without something that the archive gives them and nobody asked for.
  public var madeSafe: Int { state.withLock { $0.madeSafe } }

  /// How many members were made without an owner or a time, since the archive has numbers that cannot be.
  public var misdescribed: Int { state.withLock { $0.misdescribed } }

  func makeLane() -> ExtractionLane { ExtractionLane(folder, options, owners) }

  func endEarly() {
    state.withLock { $0.isCutShort = true }
  }

  func noteDamage() {
    state.withLock { $0.isDamaged = true }
  }

  func add(remarks: [String]) {
    state.withLock { $0.remarks += remarks }
  }

  /// Keeps a problem of the collector for the end of the run.
  func add(late problem: Problem, severity: Severity) {
    state.withLock { $0.late.append((problem, severity)) }
  }

  /// What is to be said of what could not be set: of each member where it is about safety, else once.
  func warning(of losses: EntryMetadata.Losses, path: PathBytes) -> [BatchError] {
    guard !losses.isEmpty else { return [] }
    return state.withLock { state in
      var warnings = [BatchError]()
      if losses.contains(.privileges) {
        state.madeSafe += 1
        warnings.append(
          BatchError(
            .special, "made without its privileges: setuid, setgid, or attributes of the system", path: path,
            remedy: "see --same-permissions"))
      }
      if losses.contains(.ownerNumber) {
        state.misdescribed += 1
        warnings.append(
          BatchError(
            .malformed,
            "the archive has no possible number for its owner: it stays that of who extracts, without setuid and setgid",
            path: path))
      }
      if losses.contains(.timeRange) {
        state.misdescribed += 1
        warnings.append(
          BatchError(
            .malformed, "the archive has no possible time for it: not restored",
            path: path))
      }
      let texts: [(EntryMetadata.Losses, String)] = [
        (.owner, "owners could not be restored"), (.mode, "modes could not be restored"),
        (.attributes, "extended attributes could not be restored"), (.time, "times could not be restored"),
      ]
      for (loss, text) in texts where losses.contains(loss) && !state.told.contains(loss) {
        state.told.insert(loss)
        warnings.append(BatchError(.unwritable, "some \(text), here and maybe elsewhere", path: path))
      }
      return warnings
    }
  }

  /// Makes links, and gives folders their metadata; to be called when a run has come to its end.
  ///
  /// - Parameters:
  ///   - counters: those of the run.
  ///   - report: takes what was made.
  ///   - problem: takes what was not, and what was made with less than the archive gives it.
  /// - Throws: `unwritable` when what was written cannot be brought to the disk.
  public func finish(
    counters: Counters, report: (ExtractionReport) throws(BatchError) -> Void,
    problem: (Problem, Severity) -> Void
  ) throws(BatchError) {
    let (steps, late) = state.withLock { state in
      defer { state.late = [] }
      return (state.steps.takeAll(), state.late)
    }
    for (met, severity) in late { problem(met, severity) }
    var failure: BatchError?
    let finisher = ExtractionFinisher(
      folder: folder, options: options, lane: makeLane(), hasMade: hasMade)
    finisher.finish(steps) { order, verdict in
      do throws(BatchError) {
        switch verdict {
        case .failed(let error):
          counters.addFailed()
          problem(Problem(.unreadable, error), .failure)
        case .kept:
          counters.addSkipped()
          try report(ExtractionReport(path: order.entry.path, outcome: .kept))
        case .superseded:
          counters.addSkipped()
          try report(ExtractionReport(path: order.entry.path, outcome: .superseded))
        case .made(let losses), .deferred(_, let losses):
          counters.addDone()
          for error in warning(of: losses, path: order.entry.path) {
            problem(Problem(.special, error), .warning)
          }
          try report(ExtractionReport(path: order.entry.path, outcome: .extracted))
        }
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    if options.isSynced { try folder.sync() }
  }
}
