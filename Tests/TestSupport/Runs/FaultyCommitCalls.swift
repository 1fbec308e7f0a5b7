import BatchEngine
import BatchOutputs
import Dispatch

/// Records each step of commits; the named steps fail.
///
/// Steps are `sync NAME`, `publish NAME`, `folder NAME` and `remove NAME`, with the last component of the
/// path.
package final class FaultyCommitCalls: CommitCalls {
  package let patience: DispatchTimeInterval
  package let longestWait: DispatchTimeInterval
  package let steps = Recorder<String>()
  private let failing: Set<String>
  private let before: [String: @Sendable () -> Void]
  private let kernel = LinuxCommitCalls()

  /// - Parameter before: closures that run before these steps.
  package init(
    failing: Set<String> = [], before: [String: @Sendable () -> Void] = [:],
    patience: DispatchTimeInterval = .seconds(600), longestWait: DispatchTimeInterval = .seconds(600)
  ) {
    self.patience = patience
    self.longestWait = longestWait
    self.failing = failing
    self.before = before
  }

  package func syncFileSystem(through folder: OpenFolder) throws(BatchError) {
    try take("sync", folder.path)
    try kernel.syncFileSystem(through: folder)
  }

  package func sync(_ file: AtomicFile) throws(BatchError) {
    try take("sync", file.target)
    try kernel.sync(file)
  }

  package func publish(_ file: AtomicFile, by right: CommitRight) throws(BatchError) {
    try take("publish", file.target)
    try kernel.publish(file, by: right)
  }

  package func mark(_ output: ExistingOutput, by right: CommitRight) throws(BatchError) {
    try take("mark", output.target)
    try kernel.mark(output, by: right)
  }

  package func sync(_ output: ExistingOutput) throws(BatchError) {
    try take("sync", output.target)
    try kernel.sync(output)
  }

  package func syncFolder(_ folder: OpenFolder) throws(BatchError) {
    try take("folder", folder.path)
    try kernel.syncFolder(folder)
  }

  package func remove(
    _ source: FileRecord, seen: FileStatus, in folder: OpenFolder, by right: CommitRight
  ) throws(BatchError) {
    try take("remove", source.path)
    try kernel.remove(source, seen: seen, in: folder, by: right)
  }

  private func take(_ step: String, _ path: PathBytes) throws(BatchError) {
    let step = "\(step) \(PathBytes(path.lastComponent))"
    steps.record(step)
    before[step]?()
    if failing.contains(step) { throw BatchError(.unwritable, "fails: \(step)", path: path) }
  }
}
