import BatchEngine
import Dispatch

/// The system calls of a commit, so that a test can inject faults.
package protocol CommitCalls: Sendable {
  /// How long the last commit of a stopped run may take before its outputs are reported as late.
  var patience: DispatchTimeInterval { get }
  /// How long a complete output may wait for its name, so that little is lost when the machine stops.
  var longestWait: DispatchTimeInterval { get }
  func syncFileSystem(through folder: OpenFolder) throws(BatchError)
  func sync(_ file: AtomicFile) throws(BatchError)
  func publish(_ file: AtomicFile, by right: CommitRight) throws(BatchError)
  /// Marks an existing output before its source is removed.
  func mark(_ output: ExistingOutput, by right: CommitRight) throws(BatchError)
  func sync(_ output: ExistingOutput) throws(BatchError)
  func syncFolder(_ folder: OpenFolder) throws(BatchError)
  /// Removes a source through the folder in which it was read.
  ///
  /// - Parameter seen: its last known status. A source that has changed since is not removed; a missing one is not an error.
  /// - Throws: `changed`, or the error of the call.
  func remove(
    _ source: FileRecord, seen: FileStatus, in folder: OpenFolder, by right: CommitRight
  ) throws(BatchError)
}

package struct LinuxCommitCalls: CommitCalls {
  package init() {}

  package var patience: DispatchTimeInterval { .seconds(2) }
  package var longestWait: DispatchTimeInterval { .seconds(10) }

  package func syncFileSystem(through folder: OpenFolder) throws(BatchError) {
    let result = folder.calls.syncFileSystem(of: folder.raw)
    guard result < 0 else { return }
    throw BatchError.syscall("sync its file system", errno: -result, path: folder.path)
      .recoded(.unwritable)
  }

  package func sync(_ file: AtomicFile) throws(BatchError) { try file.sync() }

  package func publish(_ file: AtomicFile, by right: CommitRight) throws(BatchError) {
    try file.publish(by: right)
  }

  package func mark(_ output: ExistingOutput, by right: CommitRight) throws(BatchError) {
    try output.markRemoved(by: right)
  }

  package func sync(_ output: ExistingOutput) throws(BatchError) { try output.sync() }

  package func syncFolder(_ folder: OpenFolder) throws(BatchError) {
    let result = folder.calls.sync(folder.raw)
    guard result < 0 else { return }
    throw BatchError.syscall("sync the folder", errno: -result, path: folder.path).recoded(.unwritable)
  }

  package func remove(
    _ source: FileRecord, seen: FileStatus, in folder: OpenFolder, by right: CommitRight
  ) throws(BatchError) {
    let name = PathBytes(source.path.lastComponent)
    let found: FileStatus?
    do throws(BatchError) {
      found = try folder.look(at: name)
    } catch {
      throw .syscall("remove the source", errno: error.errno, path: source.path)
    }
    guard let now = found else { return }
    guard now.kind != .symbolicLink || !source.followsLinks else {
      throw BatchError(
        .invalid, "is a symbolic link: what it leads to was read, and both stay beside the output",
        path: source.path)
    }
    // The change time is compared too: it also changes when a writer resets the modification time.
    guard now.hasSameContent(as: source.status), now.hasSameContent(as: seen),
      now.statusChanged == seen.statusChanged
    else {
      throw BatchError(.changed, "changed since it was read, and stays beside its output", path: source.path)
    }
    let refused = folder.remove(name, by: right)
    guard refused == 0 else { throw .syscall("remove the source", errno: refused, path: source.path) }
  }
}
