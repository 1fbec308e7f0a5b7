import Dispatch
import TestSupport

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

/// The steps of commits, each recorded as it is taken; those that are named fail instead.
///
/// Steps are `sync NAME`, `publish NAME`, `folder NAME` and `remove NAME`, by the last name of the path.
final class FaultyCommitCalls: CommitCalls {
  let patience: DispatchTimeInterval
  let steps = Recorder<String>()
  private let failing: Set<String>
  private let before: [String: @Sendable () -> Void]
  private let kernel = LinuxCommitCalls()

  /// - Parameter before: what happens just before a step.
  init(
    failing: Set<String> = [], before: [String: @Sendable () -> Void] = [:],
    patience: DispatchTimeInterval = .seconds(600)
  ) {
    self.patience = patience
    self.failing = failing
    self.before = before
  }

  func syncFileSystem(through folder: OpenFolder) throws(BatchError) {
    try take("sync", folder.path)
    try kernel.syncFileSystem(through: folder)
  }

  func sync(_ file: AtomicFile) throws(BatchError) {
    try take("sync", file.target)
    try kernel.sync(file)
  }

  func publish(_ file: AtomicFile, by right: CommitRight) throws(BatchError) {
    try take("publish", file.target)
    try kernel.publish(file, by: right)
  }

  func syncFolder(_ folder: OpenFolder) throws(BatchError) {
    try take("folder", folder.path)
    try kernel.syncFolder(folder)
  }

  func remove(
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
