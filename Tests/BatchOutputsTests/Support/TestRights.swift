@testable import BatchEngine
@testable import BatchOutputs

// Gives tests the right to commit.

extension AtomicFile {
  func publish() throws(BatchError) { try publish(by: CommitRight()) }

  func commit(_ metadata: Metadata = Metadata(), syncing: Bool = true) throws(BatchError) {
    try commit(metadata, syncing: syncing, by: CommitRight())
  }
}

extension RunOutputs {
  convenience init(limit: Int, _ folders: OutputFolders, _ cancellation: Cancellation = Cancellation()) {
    var options = OutputOptions(
      naming: OutputNaming(.adding(suffix: ".gz"), directory: nil),
      recognizing: .init(length: 1) { _ in false })
    options.staged = limit
    self.init(options, folders, cancellation)
  }
}

extension OutputCommitter {
  convenience init(
    _ outputs: RunOutputs, isSynced: Bool = true, devices: SyncDevices, calls: any CommitCalls
  ) {
    self.init(outputs, isSynced: isSynced, devices: devices, calls: calls, by: CommitRight())
  }
}
