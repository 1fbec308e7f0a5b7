import Glibc
import Synchronization

/// Further names of files with hard links: their outputs become links of the first one's output.
final class LinkLedger: Sendable {
  private struct Link: Sendable {
    let record: FileRecord
    let target: PathBytes
    let first: FileRecord
    let firstTarget: PathBytes
  }

  private struct State {
    var links: [Link] = []
    var written: Set<FileIdentity> = []
    var names: [FileIdentity: [FileRecord]] = [:]
  }

  private let options: TransformOptions
  private let state = Mutex(State())

  init(_ options: TransformOptions) {
    self.options = options
  }

  /// Notes that the first name of a file has its output.
  func committed(_ output: StagedOutput) {
    guard output.source.status.linkCount > 1 else { return }
    state.withLock { state in
      _ = state.written.insert(output.source.status.identity)
      state.names[output.source.status.identity, default: []].append(output.source)
    }
  }

  func failed(_ output: StagedOutput) {}

  func add(_ record: FileRecord, target: PathBytes, first: FileRecord, firstTarget: PathBytes) {
    state.withLock {
      $0.links.append(Link(record: record, target: target, first: first, firstTarget: firstTarget))
    }
  }

  /// Makes the links, and removes sources whose every name was in the tree.
  ///
  /// - Returns: what became of each further name, in tree order.
  func finish() -> [Result<Void, BatchError>] {
    let (links, written) = state.withLock { ($0.links, $0.written) }
    return links.map { link in
      do throws(BatchError) {
        if options.naming.directory != nil { try FolderMaker.make(link.target.parent) }
        try make(link)
        _ = written
        return .success(())
      } catch {
        return .failure(error)
      }
    }
  }

  private func make(_ link: Link) throws(BatchError) {
    let made = link.firstTarget.withCString { first in
      link.target.withCString { target in linkat(AT_FDCWD, first, AT_FDCWD, target, 0) == 0 ? 0 : errno }
    }
    if made == 0 { return }
    let isSame = StandardStreams.identity(of: link.target) == StandardStreams.identity(of: link.firstTarget)
    if made == EEXIST, isSame { return }
    throw .syscall("link the output to that of \(link.first.path)", errno: made, path: link.target)
  }
}
