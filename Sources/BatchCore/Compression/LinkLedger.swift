import Glibc
import Synchronization

/// Further names of files with hard links: their outputs become links of the first one's output.
///
/// Sources with several names are removed only when every name of the file was in the tree.
final class LinkLedger: Sendable {
  /// What became of a further name.
  enum Outcome: Sendable {
    case linked
    /// The first name has no output: it was passed over, or has failed, which was told.
    case skipped
    case failed(BatchError)
  }

  private struct Link: Sendable {
    let record: FileRecord
    let target: PathBytes
    let firstTarget: PathBytes
  }

  private struct State {
    var links: [Link] = []
    /// What became of first names, by inode; nothing of those that failed.
    var outcomes: [FileIdentity: TransformOutcome] = [:]
    /// Inodes whose first name has an output that is what it should be.
    var settled: Set<FileIdentity> = []
    /// First names whose outputs are safe and proved, by inode.
    var proved: [FileIdentity: FileRecord] = [:]
  }

  private let options: TransformOptions
  private let folders: OutputFolders
  private let state = Mutex(State())

  init(_ options: TransformOptions, _ folders: OutputFolders) {
    self.options = options
    self.folders = folders
  }

  /// Notes what became of the first name of a file, before it is safe.
  func note(_ outcome: TransformOutcome, of source: FileRecord) {
    guard source.status.linkCount > 1 else { return }
    state.withLock { $0.outcomes[source.status.identity] = outcome }
  }

  /// What became of the first name of a file; nil when it has failed, which was told.
  func outcome(of first: FileRecord) -> TransformOutcome? {
    state.withLock { $0.outcomes[first.status.identity] }
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

  func add(_ record: FileRecord, target: PathBytes, firstTarget: PathBytes) {
    state.withLock { $0.links.append(Link(record: record, target: target, firstTarget: firstTarget)) }
  }

  /// Makes the links, then removes sources whose every name was in the tree.
  ///
  /// - Returns: what became of each further name, in tree order, and errors of the removal.
  func finish() -> (links: [Outcome], errors: [BatchError]) {
    let (links, settled, proved) = state.withLock { ($0.links, $0.settled, $0.proved) }
    var names: [FileIdentity: [FileRecord]] = proved.mapValues { [$0] }
    let outcomes = links.map { link in
      let outcome = settled.contains(link.record.status.identity) ? make(link) : .skipped
      if case .linked = outcome { names[link.record.status.identity]?.append(link.record) }
      return outcome
    }
    return (outcomes, remove(names))
  }

  private func make(_ link: Link) -> Outcome {
    do throws(BatchError) {
      try folders.prepare(for: link.target)
    } catch {
      return .failed(error)
    }
    let failed = link.firstTarget.withCString { first in
      link.target.withCString { target in linkat(AT_FDCWD, first, AT_FDCWD, target, 0) == 0 ? 0 : errno }
    }
    switch failed {
    case 0: return .linked
    case ENOENT where StandardStreams.identity(of: link.firstTarget) == nil: return .skipped
    case EEXIST where isLinked(link.target, link.firstTarget): return .linked
    case EEXIST:
      if case .refused(let error) = OutputDecision.of(link.target, for: link.record, options) {
        return .failed(error)
      }
      return replace(link)
    default: return .failed(.syscall("link the output", errno: failed, path: link.target))
    }
  }

  func isLinked(_ one: PathBytes, _ other: PathBytes) -> Bool {
    guard let identity = StandardStreams.identity(of: one) else { return false }
    return identity == StandardStreams.identity(of: other)
  }

  /// Whether the output of a further name is linked already, to one that is not going to be replaced.
  func isUpToDate(_ record: FileRecord, target: PathBytes, firstTarget: PathBytes) -> Bool {
    if case .upToDate = OutputDecision.of(target, for: record, options) {
      isLinked(target, firstTarget)
    } else {
      false
    }
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

  private func remove(_ names: [FileIdentity: [FileRecord]]) -> [BatchError] {
    var errors = [BatchError]()
    let complete = names.values.filter { Self.nameCount(of: $0) == $0.first?.status.linkCount }
    // The links are new entries of folders: these have to be on the disk before any name of a source goes.
    let targets = complete.joined().compactMap { options.naming.target(of: $0.path)?.parent }
    for folder in options.isSynced ? Set(targets) : [] {
      if let error = OutputCommitter.syncFolder(folder) { return [error] }
    }
    for record in complete.joined() {
      do throws(BatchError) {
        try OutputCommitter.remove(record)
      } catch {
        errors.append(error)
      }
    }
    return errors
  }
}
