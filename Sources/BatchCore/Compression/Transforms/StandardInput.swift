import BatchEngine
import Glibc

/// Cuts standard input into blocks of one size; only the last one may be shorter.
final class StreamBlocks {
  /// How many blocks have been read.
  private(set) var count = 0
  private let size: Int
  private let reader: StreamReader
  private var isAtEnd = false

  init(size: Int, cancellation: Cancellation) {
    self.size = size
    reader = StreamReader(descriptor: STDIN_FILENO, cancellation: cancellation)
  }

  /// The next block, nil at the end.
  ///
  /// - Throws: the error of reading, with the path `-`.
  func next() throws(BatchError) -> [UInt8]? {
    guard !isAtEnd else { return nil }
    var failure: BatchError?
    let block = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      while count < size {
        let rest = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[count...]))
        do throws(BatchError) {
          let result = try reader.read(into: rest)
          if result == 0 {
            isAtEnd = true
            return
          }
          count += result
        } catch {
          failure = error.at("-")
          return
        }
      }
    }
    if let failure { throw failure }
    guard !block.isEmpty else { return nil }
    count += 1
    return block
  }
}

/// The compressed form of standard input, on standard output. Belongs to the collector.
final class StreamOutput {
  private let stream: any ResultStream
  private let plan: BlockPlan
  private var joiner: BlockJoiner?

  init(_ stream: any ResultStream, plan: BlockPlan) {
    self.stream = stream
    self.plan = plan
  }

  func append(_ block: CompressedBlock) throws(BatchError) {
    let current: BlockJoiner
    if let joiner {
      current = joiner
    } else {
      current = try BlockJoiner(plan)
      joiner = current
      try stream.write(current.header)
    }
    guard block.plainCount > 0 else { return }
    try current.append(block)
    try stream.write(block.bytes)
  }

  /// - Returns: whether there was a stream.
  func finish() throws(BatchError) -> Bool {
    guard let joiner else { return false }
    self.joiner = nil
    try stream.write(try joiner.finish())
    return true
  }
}
