@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

// Tests call parts of roles by hand, and have all rights.

extension FileReader {
  convenience init(calls: any FileSystemCalls, mostHoles: UInt64 = .max) {
    self.init(calls: calls, mostHoles: mostHoles, by: ReadingRight())
  }
}

extension CompressionFormat {
  func makeDecoder(_ options: DecoderOptions = DecoderOptions()) throws(BatchError) -> StreamDecoder {
    try makeDecoder(options, by: ReadingRight())
  }
}

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

extension TemporaryFile {
  mutating func link(as final: PathBytes) throws(BatchError) -> Int32 {
    try link(as: final, by: CommitRight())
  }
}

// Tests of one part use the calls of the kernel.

extension StaleTemporaries {
  @discardableResult
  static func remove(in folder: PathBytes) -> Outcome { remove(in: folder, calls: LinuxCalls()) }
}

extension SyncDevice {
  convenience init?(
    _ path: PathBytes, cancellation: Cancellation, terminalFilter: (@Sendable ([UInt8]) -> [UInt8])?
  ) throws(BatchError) {
    try self.init(path, calls: LinuxCalls(), cancellation: cancellation, terminalFilter: terminalFilter)
  }
}
