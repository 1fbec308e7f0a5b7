import Glibc
import Synchronization

/// Further names of files with hard links: their outputs become links of the first one's output.
///
/// Sources with several names are removed only when every name of the file was in the tree.
final class LinkLedger: Sendable {
  private struct Link: Sendable {
    let record: FileRecord
    let target: PathBytes
    let firstTarget: PathBytes
  }

  /// What became of a further name.
  private enum Outcome {
    case linked
    /// The first name has no output: it was passed over, or has failed, which was told.
    case skipped
    case failed(BatchError)
  }

  private struct State {
    var links: [Link] = []
    /// What became of first names, by inode; nil for those that failed.
    var outcomes: [FileIdentity: TransformOutcome?] = [:]
    /// Inodes whose first name has an output that is what it should be.
    var settled: Set<FileIdentity> = []
    /// First names whose outputs are safe and proved, by inode.
    var proved: [FileIdentity: FileRecord] = [:]
  }

  private let options: TransformOptions
  private let folders: OutputFolders
  private let calls: any CommitCalls
  private let state = Mutex(State())

  init(_ options: TransformOptions, _ folders: OutputFolders, calls: any CommitCalls = LinuxCommitCalls()) {
    self.options = options
    self.folders = folders
    self.calls = calls
  }

  /// Notes what became of the first name of a file, before it is safe; nil when it failed, which was told.
  func note(_ outcome: TransformOutcome?, of source: FileRecord) {
    guard source.status.linkCount > 1 else { return }
    state.withLock { _ = $0.outcomes.updateValue(outcome, forKey: source.status.identity) }
  }

  /// Notes that the first name of a file has its output.
  func committed(_ output: StagedOutput) {
    settled(output.source)
    guard options.removesSource, output.isProved, output.source.status.linkCount > 1 else { return }
    state.withLock { $0.proved[output.source.status.identity] = output.source }
  }

  /// Notes that the output of the first name is what it should be, so that others may be linked to it.
  func settled(_ source: FileRecord) {
    guard source.status.linkCount > 1 else { return }
    state.withLock { _ = $0.settled.insert(source.status.identity) }
  }

  /// Takes a further name, to be linked at the end unless it is linked already.
  ///
  /// - Returns: what is to be told of it; nil when it has no output.
  func take(_ record: FileRecord, first: FileRecord) -> TransformOutcome? {
    guard let target = options.naming.target(of: record.path),
      let firstTarget = options.naming.target(of: first.path)
    else { return nil }
    if let noted = state.withLock({ $0.outcomes[first.status.identity] }) {
      switch noted {
      case .written, .upToDate, .linked: break
      case .compressedAlready, .notSmaller, nil: return noted
      }
    }
    // To one that is going to be replaced it has to be linked again.
    if case .upToDate = OutputDecision.of(target, for: record, options), Self.isLinked(target, firstTarget) {
      return .upToDate
    }
    state.withLock { $0.links.append(Link(record: record, target: target, firstTarget: firstTarget)) }
    return .linked(target: target)
  }

  /// Makes the links, in the order of the tree, then removes sources whose every name was in the tree.
  func finish(_ account: OutputAccount) {
    let (links, settled, proved) = state.withLock { ($0.links, $0.settled, $0.proved) }
    var names: [FileIdentity: [FileRecord]] = proved.mapValues { [$0] }
    let outcomes = links.map { link in
      settled.contains(link.record.status.identity) ? make(link) : .skipped
    }
    for (link, outcome) in zip(links, synced(links, outcomes)) {
      switch outcome {
      case .linked:
        account.done()
        names[link.record.status.identity]?.append(link.record)
      case .skipped: account.skipped()
      case .failed(let error): account.failed(Problem(.unreadable, error))
      }
    }
    remove(names.values.sorted { ($0.first?.path ?? "") < ($1.first?.path ?? "") }, account)
  }

  // MARK: Linking

  private func make(_ link: Link) -> Outcome {
    do throws(BatchError) {
      try folders.prepare(link.target.parent)
    } catch {
      return .failed(error)
    }
    let failed = link.firstTarget.withCString { first in
      link.target.withCString { target in linkat(AT_FDCWD, first, AT_FDCWD, target, 0) == 0 ? 0 : errno }
    }
    switch failed {
    case 0: return .linked
    case ENOENT where StandardStreams.identity(of: link.firstTarget) == nil: return .skipped
    case EEXIST where Self.isLinked(link.target, link.firstTarget): return .linked
    case EEXIST:
      if case .refused(let error) = OutputDecision.of(link.target, for: link.record, options) {
        return .failed(error)
      }
      return replace(link)
    default: return .failed(.syscall("link the output", errno: failed, path: link.target))
    }
  }

  private static func isLinked(_ one: PathBytes, _ other: PathBytes) -> Bool {
    guard let identity = StandardStreams.identity(of: one) else { return false }
    return identity == StandardStreams.identity(of: other)
  }

  /// Puts a link in the place of an output of an earlier run, in one step.
  private func replace(_ link: Link) -> Outcome {
    let name = link.target.parent.appending(TemporaryName().bytes)
    let failed = link.firstTarget.withCString { first in
      name.withCString { temporary in
        link.target.withCString { target in
          guard linkat(AT_FDCWD, first, AT_FDCWD, temporary, 0) == 0 else { return errno }
          defer { unlink(temporary) }
          return rename(temporary, target) == 0 ? 0 : errno
        }
      }
    }
    return failed == 0 ? .linked : .failed(.syscall("link the output", errno: failed, path: link.target))
  }

  /// Brings the folders of links to the disk, each once, as those of other outputs are.
  private func synced(_ links: [Link], _ outcomes: [Outcome]) -> [Outcome] {
    guard options.isSynced else { return outcomes }
    var folders: [PathBytes: Result<Void, BatchError>] = [:]
    return zip(links, outcomes).map { link, outcome in
      guard case .linked = outcome else { return outcome }
      for folder in options.naming.folders(of: link.target) {
        let result = folders[folder] ?? Result { () throws(BatchError) in try calls.syncFolder(folder) }
        folders[folder] = result
        if case .failure(let error) = result { return .failed(error) }
      }
      return .linked
    }
  }

  // MARK: Removing

  /// How many names of their file these are: operands may lead to one by several paths.
  private static func nameCount(of records: [FileRecord]) -> UInt64 {
    struct Name: Hashable {
      let folder: FileIdentity?
      let name: [UInt8]
    }
    let names = records.map {
      Name(folder: StandardStreams.identity(of: $0.path.parent), name: Array($0.path.lastComponent))
    }
    return UInt64(Set(names).count)
  }

  private func remove(_ names: [[FileRecord]], _ account: OutputAccount) {
    for records in names {
      guard let first = records.first else { continue }
      guard Self.nameCount(of: records) == first.status.linkCount else {
        account.warn(
          BatchError(
            .invalid, "has further names that got no output, and stays beside its own", path: first.path))
        continue
      }
      for record in records {
        do throws(BatchError) {
          try calls.remove(record)
        } catch {
          account.withdrawn(error)
        }
      }
    }
  }
}
