@testable import BatchEngine
@testable import BatchOutputs

// Gives tests the right to commit.

extension AtomicFile {
  func publish() throws(BatchError) { try publish(by: CommitRight()) }

  func commit(_ metadata: Metadata = Metadata(), syncing: Bool = true) throws(BatchError) {
    try commit(
      metadata, syncing: syncing, by: CommitRight())
  }
}

extension OutputStage {
  convenience init(
    limit: Int, _ folders: OutputFolders, isSynced: Bool = true,
    _ cancellation: Cancellation = Cancellation(),
    calls: any CommitCalls = LinuxCommitCalls(), devices: SyncDevices? = nil, counters: Counters = Counters()
  ) {
    var options = OutputOptions(
      naming: OutputNaming(.adding(suffix: ".gz"), directory: nil),
      recognizing: .init(length: 1) { _ in false })
    options.staged = limit
    options.isSynced = isSynced
    self.init(
      options, folders, cancellation, calls: calls, devices: devices ?? folders.devices, by: CommitRight(),
      counters: counters)
  }

  var commits: Commits { commits(by: CommitRight()) }
}
