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
