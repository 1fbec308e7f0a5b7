import BatchEngine
import Synchronization

/// The compressed form of standard input, on standard output.
final class StreamOutput: Sendable {
  private let stream: any ResultStream
  private let plan: BlockPlan
  private let joiner = Mutex<BlockJoiner?>(nil)

  init(_ stream: any ResultStream, plan: BlockPlan) {
    self.stream = stream
    self.plan = plan
  }

  func append(_ block: CompressedBlock) throws(BatchError) {
    let bytes = try joiner.withLock { (joiner) throws(BatchError) in
      var bytes = [UInt8]()
      if joiner == nil {
        let new = try BlockJoiner(plan)
        bytes = new.header
        joiner = new
      }
      if block.plainCount > 0 { try joiner?.append(block) }
      return bytes
    }
    try stream.write(bytes)
    if block.plainCount > 0 { try stream.write(block.bytes) }
  }

  /// - Returns: whether there was a stream.
  func finish() throws(BatchError) -> Bool {
    let trailer = try joiner.withLock { (joiner) throws(BatchError) in
      defer { joiner = nil }
      return try joiner?.finish()
    }
    if let trailer { try stream.write(trailer) }
    return trailer != nil
  }
}
