@testable import BatchEngine
@testable import BatchOutputs

// Tests call parts of roles by hand, and have all rights.

extension AtomicFile {
  func publish() throws(BatchError) { try publish(by: CommitRight()) }

  func commit(_ metadata: Metadata = Metadata(), syncing: Bool = true) throws(BatchError) {
    try commit(metadata, syncing: syncing, by: CommitRight())
  }
}

extension OutputCommitter {
  convenience init(
    _ stage: OutputStage, isSynced: Bool = true, devices: SyncDevices, calls: any CommitCalls
  ) {
    self.init(stage, isSynced: isSynced, devices: devices, calls: calls, by: CommitRight())
  }
}
