import BatchEngine
import var Glibc.STDIN_FILENO

/// Cuts standard input into blocks of equal size; only the last one may be shorter.
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
    let block: [UInt8]
    do throws(BatchError) {
      block = try [UInt8](upTo: size) { (room) throws(BatchError) in
        var filled = 0
        while filled < size, !isAtEnd {
          let result = try reader.read(into: UnsafeMutableRawBufferPointer(rebasing: room[filled...]))
          isAtEnd = result == 0
          filled += result
        }
        return filled
      }
    } catch {
      throw error.at("-")
    }
    guard !block.isEmpty else { return nil }
    count += 1
    return block
  }
}

/// Writes the compressed form of standard input and of files to a stream, one after the other. Belongs to the collector.
final class StreamOutput {
  private let stream: any ResultStream
  /// The block plan of standard input.
  private let plan: BlockPlan
  private var joiner: BlockJoiner?
  private var plainCount: Int64 = 0
  private var compressedCount: Int64 = 0

  init(_ stream: any ResultStream, _ plan: BlockPlan) {
    self.stream = stream
    self.plan = plan
  }

  /// Whether blocks were written without their end.
  var isOpen: Bool { joiner != nil }

  func append(_ file: [UInt8]) throws(BatchError) {
    try stream.write(file)
  }

  /// - Parameter plan: the plan of the block's file; nil for standard input.
  func append(_ block: CompressedBlock, of plan: BlockPlan? = nil) throws(BatchError) {
    let current: BlockJoiner
    if let joiner {
      current = joiner
    } else {
      current = try BlockJoiner(plan ?? self.plan)
      joiner = current
      (plainCount, compressedCount) = (0, 0)
      try write(current.header)
    }
    guard block.plainCount > 0 else { return }
    try current.append(block)
    plainCount += Int64(block.plainCount)
    try write(block.bytes)
  }

  private func write(_ bytes: [UInt8]) throws(BatchError) {
    compressedCount += Int64(bytes.count)
    try stream.write(bytes)
  }

  /// - Returns: the sizes of the stream in bytes; nil when there was no stream.
  func finish() throws(BatchError) -> (plain: Int64, compressed: Int64)? {
    guard let joiner else { return nil }
    self.joiner = nil
    try write(try joiner.finish())
    return (plainCount, compressedCount)
  }
}
