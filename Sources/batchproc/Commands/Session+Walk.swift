import BatchCore
import BatchEngine
import Synchronization

/// What a command reads.
extension Session {
  /// The walk options of the command; the report file is excluded.
  func walkOptions() throws(BatchError) -> WalkOptions {
    var walk = try common.walkOptions()
    walk.excluded = report.withLock { $0 }?.ownFiles ?? []
    rules.withLock { $0 = walk.filter }
    return walk
  }

  /// The absolute paths of the files that ``walkOptions(forAllBut:)`` excludes.
  var ownFiles: [PathBytes] {
    let output = StandardStreams.outputFile == nil ? nil : try? PathBytes("/proc/self/fd/1").resolved()
    let report = report.withLock { $0 }.map { (try? $0.path.resolved()) ?? WorkingFolder.absolute($0.path) }
    return [output, report].compactMap { $0 }
  }

  /// The walk options for trees of which everything is taken except temporary files, standard output and these files.
  func walkOptions(forAllBut own: [FileIdentity?]) throws(BatchError) -> WalkOptions {
    var walk = try walkOptions()
    walk.takesEverything = true
    walk.skipsTemporaries = true
    walk.excluded.formUnion((own + [StandardStreams.outputFile]).compactMap { $0 })
    return walk
  }

  /// The filter for members of an archive; nil without rules.
  func filter() throws(BatchError) -> PathFilter? {
    let filter = try common.filter()
    rules.withLock { $0 = filter }
    return filter
  }

  /// Reports once which rules matched nothing.
  func reportUnmatchedRules() {
    guard let filter = rules.withLock({ $0.take() }) else { return }
    let unmatched = filter.unmatchedRules.filter { !common.isImplied($0) }
    if !unmatched.isEmpty { reporter.unmatched(unmatched) }
  }

  /// The paths of the command line and of its lists.
  func operands(_ given: [PathBytes], areAbsolute: Bool = false) -> Operands {
    Operands(
      given,
      lists: common.fileLists.map {
        PathList(
          areAbsolute ? WorkingFolder.absolute($0.path) : $0.path, isNULEnded: $0.isNULEnded,
          cancellation: cancellation, calls: context.calls)
      })
  }

  /// The keys, limited to the memory that the run may use.
  func keys(_ keys: AgeKeys?) -> AgeKeys? {
    var keys = keys
    keys?.memory = context.options.memory
    return keys
  }
}
