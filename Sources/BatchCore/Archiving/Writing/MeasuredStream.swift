import BatchEngine
import Synchronization

/// Passes bytes on, and counts and hashes them.
final class MeasuredStream: ResultStream {
  private let stream: any ResultStream
  private let measure: Mutex<(digest: DigestStream, count: UInt64)>

  /// - Parameter algorithm: the algorithm for the digest of all bytes.
  init(_ stream: any ResultStream, _ algorithm: DigestAlgorithm) throws(BatchError) {
    self.stream = stream
    measure = Mutex((try DigestStream(algorithm), 0))
  }

  func write(_ bytes: [UInt8]) throws(BatchError) {
    try measure.withLock { (measure) throws(BatchError) in
      try withBytes(of: bytes) { (raw) throws(BatchError) in try measure.digest.update(raw) }
      measure.count += UInt64(bytes.count)
    }
    try stream.write(bytes)
  }

  func finish() throws(BatchError) { try stream.finish() }

  /// All bytes written so far, as a stretch that begins at an offset.
  func stretch(from start: UInt64) throws(BatchError) -> WrittenArchive.Stretch {
    try measure.withLock { (measure) throws(BatchError) in
      WrittenArchive.Stretch(
        bytes: start..<(start + measure.count), digest: try measure.digest.finish())
    }
  }
}
