@testable import BatchEngine

// Tests call parts of roles directly, with all rights and the calls of the kernel.

extension FileReader {
  convenience init(calls: any FileSystemCalls, mostHoles: UInt64 = .max) {
    self.init(calls: calls, mostHoles: mostHoles, by: ReadingRight())
  }
}

extension TemporaryFile {
  mutating func link(as final: PathBytes) throws(BatchError) -> Int32 {
    try link(as: final, by: CommitRight())
  }
}

extension SyncDevice {
  convenience init?(
    _ path: PathBytes, cancellation: Cancellation, terminalFilter: (@Sendable ([UInt8]) -> [UInt8])?
  ) throws(BatchError) {
    try self.init(path, calls: LinuxCalls(), cancellation: cancellation, terminalFilter: terminalFilter)
  }
}
