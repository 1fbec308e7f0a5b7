import BatchEngine
import CLinux
import Glibc
import Synchronization

/// Further names of files with hard links: their outputs become links of the first one's output.
///
/// Sources with several names are removed only when every name of the file was in the tree.
final class LinkLedger: Sendable {
  private struct Link: Sendable {
    let record: FileRecord
    let target: PathBytes
    let first: FileRecord
    let firstTarget: PathBytes
  }

  /// What became of a further name.
  private enum Outcome {
    /// In this folder.
    case linked(OutputFolder)
    /// The first name has no output: it was passed over, or has failed, which was told.
    case skipped
    case failed(BatchError)
  }

  /// The first name of a file whose output is safe and proved.
  private struct Proved: Sendable {
    let source: FileRecord
    let read: FileStatus
  }

  private struct State {
    var links: [Link] = []
    /// What became of first names, by inode; nil for those that failed.
    var outcomes: [FileIdentity: TransformOutcome?] = [:]
    /// The outputs of first names that are what they should be, by the inode of the source.
    var outputs: [FileIdentity: FileIdentity] = [:]
    var proved: [FileIdentity: Proved] = [:]
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
    guard let identity = output.identity else { return }
    settled(output.source, identity)
    guard options.removesSource, output.isProved else { return }
    let proved = Proved(source: output.source, read: output.read)
    state.withLock { $0.proved[output.source.status.identity] = proved }
  }

  /// Notes that the output of the first name is what it should be, so that others may be linked to it.
  ///
  /// - Parameter output: its inode.
  func settled(_ source: FileRecord, _ output: FileIdentity) {
    guard source.status.linkCount > 1 else { return }
    state.withLock { $0.outputs[source.status.identity] = output }
  }

  /// Takes a further name, to be linked at the end unless it is linked already.
  ///
  /// - Parameter decision: about its output.
  /// - Returns: what is to be told of it; nil when it has no output.
  func take(_ record: FileRecord, first: FileRecord, _ decision: OutputDecision) -> TransformOutcome? {
    guard let target = options.naming.target(of: record.path),
      let firstTarget = options.naming.target(of: first.path)
    else { return nil }
    return state.withLock { state in
      if let noted = state.outcomes[first.status.identity] {
        switch noted {
        case .written, .upToDate, .linked: break
        case .compressedAlready, .notSmaller, nil: return noted
        }
      }
      // To one that is going to be replaced it has to be linked again.
      if case .upToDate(let output) = decision, output == state.outputs[first.status.identity] {
        return .upToDate
      }
      state.links.append(Link(record: record, target: target, first: first, firstTarget: firstTarget))
      return .linked(target: target)
    }
  }

  /// Makes the links, in the order of the tree, then removes sources whose every name was in the tree.
  func finish(_ account: OutputAccount) {
    let (links, outputs, proved) = state.withLock { ($0.links, $0.outputs, $0.proved) }
    var names: [FileIdentity: [FileRecord]] = proved.mapValues { [$0.source] }
    var place: OutputPlace?
    // Those of one folder, which waits to be synced.
    var made: [(link: Link, outcome: Outcome)] = []
    var folder: OutputFolder?
    func settle() {
      let error = folder.flatMap { syncFailure(of: $0) }
      for (link, outcome) in made {
        switch outcome {
        case .linked:
          if let error {
            account.failed(Problem(.unreadable, error))
          } else {
            account.done()
            names[link.record.status.identity]?.append(link.record)
          }
        case .skipped: account.skipped()
        case .failed(let error): account.failed(Problem(.unreadable, error))
        }
      }
      made = []
      folder = nil
    }
    for link in links {
      let outcome = outputs[link.record.status.identity].map { make(link, of: $0, &place) } ?? .skipped
      if case .linked(let its) = outcome {
        if folder?.identity != its.identity { settle() }
        folder = its
      }
      made.append((link, outcome))
    }
    settle()
    place = nil
    let ordered = names.sorted { ($0.value.first?.path ?? "") < ($1.value.first?.path ?? "") }
    for (source, records) in ordered {
      if let read = proved[source]?.read { remove(records, read, account) }
    }
  }

  // MARK: Linking

  /// - Parameter output: the inode of the first name's output.
  private func make(_ link: Link, of output: FileIdentity, _ place: inout OutputPlace?) -> Outcome {
    do throws(BatchError) {
      var firstPlace: OutputPlace?
      let first = try folders.place(of: link.first, after: &firstPlace).target
      guard
        let file = try first.flatMap({ (folder) throws(BatchError) in
          try open(link.firstTarget, in: folder, output)
        })
      else { return .skipped }
      // What was open for the first name is not needed any more.
      firstPlace = nil
      let prepared = try folders.prepare(
        try folders.place(of: link.record, after: &place), syncsNames: true)
      place = prepared
      guard let folder = prepared.target else { return .skipped }
      return try make(link, to: file, output, in: folder)
    } catch {
      return .failed(error)
    }
  }

  /// Opens the output of a first name, if only as a place.
  ///
  /// - Returns: nil where it is not there any more.
  /// - Throws: `changed` when it is another file.
  private func open(
    _ target: PathBytes, in folder: OutputFolder, _ output: FileIdentity
  ) throws(BatchError) -> Descriptor? {
    let number = PathBytes(target.lastComponent).withCString { name in
      retrying { Int(clinux_openat(folder.raw, name, clinux_o_path | O_NOFOLLOW | O_CLOEXEC, 0)) }
    }
    if number == -Int(ENOENT) { return nil }
    guard number >= 0 else { throw .syscall("link the output", errno: Int32(-number), path: target) }
    let file = Descriptor(owning: Int32(number))
    var raw = stat()
    guard fstat(file.raw, &raw) == 0, FileStatus(raw).identity == output else {
      throw BatchError(.changed, "is another file than the output that was written", path: target)
    }
    return file
  }

  private func make(
    _ link: Link, to file: borrowing Descriptor, _ output: FileIdentity, in folder: OutputFolder
  ) throws(BatchError) -> Outcome {
    let name = PathBytes(link.target.lastComponent)
    let failed = UnnamedFile.link(file.raw, as: name, in: folder.raw)
    switch failed {
    case 0: return .linked(folder)
    case EEXIST:
      if try folder.look(at: name)?.identity == output { return .linked(folder) }
      if case .refused(let error) = OutputDecision.of(link.target, for: link.record, options, in: folder) {
        return .failed(error)
      }
      return replace(name, with: file, link, in: folder)
    default: return .failed(.syscall("link the output", errno: failed, path: link.target))
    }
  }

  /// Puts a link in the place of an output of an earlier run, in one step.
  private func replace(
    _ name: PathBytes, with file: borrowing Descriptor, _ link: Link, in folder: OutputFolder
  ) -> Outcome {
    let temporary = PathBytes(TemporaryName().bytes)
    var failed = UnnamedFile.link(file.raw, as: temporary, in: folder.raw)
    if failed == 0 {
      failed = temporary.withCString { temporary in
        name.withCString { name in
          defer { unlinkat(folder.raw, temporary, 0) }
          return renameat(folder.raw, temporary, folder.raw, name) == 0 ? 0 : errno
        }
      }
    }
    return failed == 0
      ? .linked(folder) : .failed(.syscall("link the output", errno: failed, path: link.target))
  }

  /// Brings the folder of links to the disk, as those of other outputs are.
  private func syncFailure(of folder: OutputFolder) -> BatchError? {
    guard options.isSynced else { return nil }
    do throws(BatchError) {
      try calls.syncFolder(folder)
      return nil
    } catch {
      return error
    }
  }

  // MARK: Removing

  /// Removes all names of a file, when they are all.
  ///
  /// - Parameter read: the file as it was when it was read.
  private func remove(_ records: [FileRecord], _ read: FileStatus, _ account: OutputAccount) {
    struct Name: Hashable {
      let folder: FileIdentity?
      let name: [UInt8]
    }
    let names = records.map { record in
      var place: OutputPlace?
      let folder = try? folders.place(of: record, after: &place).source.identity
      return Name(folder: folder, name: Array(record.path.lastComponent))
    }
    // Operands may lead to one name by several paths.
    guard UInt64(Set(names).count) == read.linkCount else {
      account.warn(
        BatchError(
          .invalid, "has further names that got no output, and stays beside its own", path: records[0].path))
      return
    }
    var seen = read
    for (index, record) in records.enumerated() {
      do throws(BatchError) {
        var place: OutputPlace?
        let folder = try folders.place(of: record, after: &place).source
        try calls.remove(record, seen: seen, in: folder)
        if index + 1 < records.count { seen = try self.seen(records[index + 1], after: seen) }
      } catch {
        account.withdrawn(error)
      }
    }
  }

  /// A file at another one of its names, after one was removed here, which moved its change time.
  private func seen(_ record: FileRecord, after seen: FileStatus) throws(BatchError) -> FileStatus {
    var place: OutputPlace?
    let folder = try folders.place(of: record, after: &place).source
    let name = PathBytes(record.path.lastComponent)
    guard let now = try folder.look(at: name), now.hasSameContent(as: seen),
      now.linkCount + 1 == seen.linkCount, now.mode == seen.mode, now.owner == seen.owner
    else { return seen }
    return now
  }
}
