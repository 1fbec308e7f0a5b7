import BatchEngine
import var Glibc.EEXIST

/// Handles files with several hard links: the outputs of further names become links to the output of the first name.
///
/// The collector calls it in row order. A source with several names is removed only if every name of the file was in the tree
/// and has its output.
final class LinkLedger {
  /// The result for the first name of a file.
  private struct First {
    /// Nil when it failed; the failure was reported.
    var outcome: OutputOutcome?
    /// The inode of its output.
    var output: FileIdentity?
    var isCopy = false
    /// If the file may be removed: its names whose outputs are safe.
    var names: [FileRecord] = []
    /// If the file may be removed: its status when it was read.
    var proved: FileStatus?
  }

  /// What the collector does with a further name.
  enum Answer {
    case report(OutputOutcome)
    /// No output: its first name failed, which was reported.
    case skip
    case link(StagedLink)
    /// In a dry run: a link with this name would be created.
    case planned(PathBytes)
    case refused(BatchError)
  }

  private let linker: OutputLinker
  private var options: OutputOptions { linker.options }
  private var folders: OutputFolders { linker.folders }
  /// The first names, by the inode of the source.
  private var firsts: [FileIdentity: First] = [:]

  init(_ options: OutputOptions, _ folders: OutputFolders) {
    linker = OutputLinker(options: options, folders: folders)
  }

  /// Records the result for the first name of a file; nil when it failed, which was reported.
  func note(_ outcome: OutputOutcome?, of source: LinkedSource) {
    firsts[source.record.status.identity] = First(
      outcome: outcome, output: source.output, isCopy: source.isCopy)
  }

  /// Records whether the output of a first name was committed.
  func committed(_ source: LinkedSource, isSafe: Bool) {
    let identity = source.record.status.identity
    guard isSafe else {
      firsts[identity] = First(outcome: nil, output: nil)
      return
    }
    guard options.removesSource, source.isProved else { return }
    firsts[identity]?.proved = source.read
    firsts[identity]?.names = [source.record]
  }

  /// Decides about a further name.
  ///
  /// - Parameter decision: the decision about its output.
  func take(_ name: HardLinkItem, _ decision: OutputDecision) -> Answer {
    guard let first = firsts[name.record.status.identity] else { return .skip }
    var name = name
    switch first.outcome {
    case .written, .upToDate, .linked, .copied, .planned: break
    case .compressedAlready, .notSmaller:
      if decision.isReplacing {
        return .refused(
          BatchError(
            .invalid,
            "gets no output, because its first name gets none; an older output is left: \(name.target)",
            path: name.record.path))
      }
      return first.outcome.map { .report($0) } ?? .skip
    case nil: return .skip
    }
    let naming = options.naming
    if first.isCopy, name.hasRival, let target = naming.copyTarget(of: name.record.path) {
      return .refused(OutputClaims.conflict(of: name.record, target))
    }
    guard let output = first.output else {
      guard options.isDryRun else { return .skip }
      if case .refused(let error) = decision { return .refused(error) }
      return .planned((first.isCopy ? naming.copyTarget(of: name.record.path) : nil) ?? name.target)
    }
    if first.isCopy, let target = naming.copyTarget(of: name.record.path),
      let firstTarget = naming.copyTarget(of: name.first.record.path)
    {
      name = HardLinkItem(
        name.record, target: target, first: FirstLink(record: name.first.record, target: firstTarget))
      if linker.isLinked(name, to: output) { return .report(.upToDate) }
    }
    // An existing link to the first output is up to date. If that output is replaced, the link must be made again.
    if decision == .upToDate(output) { return .report(.upToDate) }
    if options.isDryRun { return .planned(name.target) }
    let (linker, further) = (linker, name)
    return .link(
      StagedLink(target: further.target) { (right) throws(BatchError) in
        try linker.link(further, to: output, by: right)
      })
  }

  /// Whether the first name of a file has no output, so that the failure of a further name is not reported again.
  func hasFailed(_ name: HardLinkItem) -> Bool {
    firsts[name.record.status.identity]?.outcome == nil
  }

  /// Records that the output of a further name is committed.
  func linked(_ name: HardLinkItem) {
    let identity = name.record.status.identity
    if firsts[identity]?.proved != nil { firsts[identity]?.names.append(name.record) }
  }

  /// Removes the sources of which all names were in the tree.
  ///
  /// - Parameters:
  ///   - kept: receives a file that has further names.
  ///   - failed: receives a name that could not be removed.
  func removeSources(
    by right: CommitRight, kept: (BatchError) -> Void, failed: (BatchError) -> Void
  ) {
    let proved = firsts.values.filter { $0.proved != nil }
    for first in proved.sorted(by: { ($0.names.first?.path ?? "") < ($1.names.first?.path ?? "") }) {
      if let read = first.proved { remove(first.names, read, by: right, kept: kept, failed: failed) }
    }
    firsts = [:]
  }

  /// Removes all names of a file if the tree has all of them.
  ///
  /// - Parameter read: the status of the file when it was read.
  private func remove(
    _ records: [FileRecord], _ read: FileStatus, by right: CommitRight, kept: (BatchError) -> Void,
    failed: (BatchError) -> Void
  ) {
    struct Name: Hashable {
      let folder: FileIdentity?
      let name: [UInt8]
    }
    let names = records.map { record in
      let folder = try? folders.place(of: record).source.identity
      return Name(folder: folder, name: Array(record.path.lastComponent))
    }
    // Several operands may reach one name by different paths.
    guard UInt64(Set(names).count) == read.linkCount else {
      kept(
        BatchError(
          .invalid, "kept: it has other hard links that were not compressed", path: records[0].path))
      return
    }
    var seen = read
    for (index, record) in records.enumerated() {
      do throws(BatchError) {
        let folder = try folders.place(of: record).source
        try folders.commits.remove(record, seen: seen, in: folder, by: right)
        if index + 1 < records.count { seen = try self.seen(records[index + 1], after: seen) }
      } catch {
        failed(error)
      }
    }
  }

  /// The current status of a file under another name, because the removal of a name changes the change time.
  private func seen(_ record: FileRecord, after seen: FileStatus) throws(BatchError) -> FileStatus {
    let folder = try folders.place(of: record).source
    let name = PathBytes(record.path.lastComponent)
    guard let now = try folder.look(at: name), now.hasSameContent(as: seen),
      now.linkCount + 1 == seen.linkCount, now.mode == seen.mode, now.owner == seen.owner
    else { return seen }
    return now
  }
}

struct OutputLinker: Sendable {
  let options: OutputOptions
  let folders: OutputFolders

  /// Creates the output of a further name as a link to the output of the first name.
  ///
  /// - Parameter output: the inode of the first name's output.
  /// - Returns: the folder of the link; nil if the output of the first name does not exist.
  func link(
    _ name: HardLinkItem, to output: FileIdentity, by right: CommitRight
  ) throws(BatchError) -> OpenFolder? {
    var place: OutputPlace?
    let first = try folders.place(of: name.first.record, after: &place).target
    guard
      let file = try first.flatMap({ (folder) throws(BatchError) in
        try open(name.first.target, in: folder, output)
      })
    else { return nil }
    // The folder of the first name is closed before another one is opened.
    place = nil
    let prepared = try folders.prepare(try folders.place(of: name.record, after: &place), syncsNames: true)
    guard let folder = prepared.target else { return nil }
    try make(name, to: file, output, in: folder, by: right)
    return folder
  }

  /// Whether the output of a further name is already a link to the output of the first name.
  func isLinked(_ name: HardLinkItem, to output: FileIdentity) -> Bool {
    guard let folder = try? folders.place(of: name.record).target else { return false }
    let status = try? folder.look(at: PathBytes(name.target.lastComponent))
    return status?.identity == output
  }

  /// Opens the output of a first name with `O_PATH`.
  ///
  /// - Returns: nil if it does not exist any more.
  /// - Throws: `changed` when the file was replaced.
  private func open(
    _ target: PathBytes, in folder: OpenFolder, _ output: FileIdentity
  ) throws(BatchError) -> Descriptor? {
    let file: Descriptor
    do throws(BatchError) {
      file = try folder.openPlace(PathBytes(target.lastComponent))
    } catch {
      if error.isNotFound { return nil }
      throw .syscall("link the output", errno: error.errno, path: target)
    }
    guard (try? folder.calls.status(of: file))?.identity == output else {
      throw BatchError(.changed, "is not the output that was written", path: target)
    }
    return file
  }

  private func make(
    _ further: HardLinkItem, to file: borrowing Descriptor, _ output: FileIdentity, in folder: OpenFolder,
    by right: CommitRight
  ) throws(BatchError) {
    let name = PathBytes(further.target.lastComponent)
    let failed = -folder.calls.link(file.raw, as: name, in: folder.raw)
    switch failed {
    case 0: return
    case EEXIST:
      if try folder.look(at: name)?.identity == output { return }
      switch OutputDecision.of(
        further.target, for: further.record, options, in: folder, calls: folders.calls)
      {
      case .refused(let error): throw error
      case .compare:
        throw BatchError(
          .invalid, "differs from the output of the source's first name; both are kept",
          path: further.target, remedy: .replaceOutput)
      case .write, .upToDate: break
      }
      try replace(name, with: file, further, in: folder, by: right)
    default: throw .syscall("link the output", errno: failed, path: further.target)
    }
  }

  /// Replaces an output of an earlier run by a link, in one step.
  private func replace(
    _ name: PathBytes, with file: borrowing Descriptor, _ further: HardLinkItem, in folder: OpenFolder,
    by right: CommitRight
  ) throws(BatchError) {
    let raw = file.raw
    let failed = folder.replace(name, by: right) { folder.calls.link(raw, as: $0, in: folder.raw) }
    guard failed == 0 else { throw .syscall("link the output", errno: failed, path: further.target) }
  }
}
