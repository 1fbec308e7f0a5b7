@testable import BatchCore

/// The steps of commits, each recorded as it is taken; those that are named fail instead.
///
/// Steps are `sync NAME`, `publish NAME`, `folder NAME` and `remove NAME`, by the last name of the path.
final class FaultyCommitCalls: CommitCalls {
  let steps = Recorder<String>()
  private let failing: Set<String>
  private let kernel = LinuxCommitCalls()

  init(failing: Set<String> = []) {
    self.failing = failing
  }

  func syncFileSystem(of file: AtomicFile) throws(BatchError) {
    try take("sync", file.target)
    try kernel.syncFileSystem(of: file)
  }

  func publish(_ file: AtomicFile) throws(BatchError) {
    try take("publish", file.target)
    try kernel.publish(file)
  }

  func syncFolder(_ folder: PathBytes) throws(BatchError) {
    try take("folder", folder)
    try kernel.syncFolder(folder)
  }

  func remove(_ source: FileRecord) throws(BatchError) {
    try take("remove", source.path)
    try kernel.remove(source)
  }

  private func take(_ step: String, _ path: PathBytes) throws(BatchError) {
    let step = "\(step) \(PathBytes(path.lastComponent))"
    steps.record(step)
    if failing.contains(step) { throw BatchError(.unwritable, "fails: \(step)", path: path) }
  }
}
