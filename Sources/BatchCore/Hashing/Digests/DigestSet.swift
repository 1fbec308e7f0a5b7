import BatchEngine
import Dispatch
import Synchronization

/// Computes several digests of each file in one pass, on one thread at a time.
package final class DigestSet {
  /// A stream to which any thread may add bytes, one at a time.
  private final class SharedStream: Sendable {
    let stream: Mutex<DigestStream>

    init(_ algorithm: DigestAlgorithm) throws(BatchError) {
      stream = Mutex(try DigestStream(algorithm))
    }
  }

  private let algorithms: [DigestAlgorithm]
  /// One for each algorithm, in their order.
  private let streams: [SharedStream]
  private let concurrency: ConcurrencyLimit
  private let perform: Perform

  package typealias Perform = (_ iterations: Int, _ block: @Sendable (Int) -> Void) -> Void

  /// - Parameters:
  ///   - concurrency: how many digests may be computed at once, those of other lanes included.
  ///   - perform: runs a block this many times, on as many threads.
  /// - Throws: as ``DigestStream/init(_:)``.
  package init(
    _ algorithms: [DigestAlgorithm], concurrency: ConcurrencyLimit,
    perform: @escaping Perform = { DispatchQueue.concurrentPerform(iterations: $0, execute: $1) }
  ) throws(BatchError) {
    self.concurrency = concurrency
    self.perform = perform
    self.algorithms = algorithms
    var streams = [SharedStream]()
    streams.reserveCapacity(algorithms.count)
    for algorithm in algorithms { streams.append(try SharedStream(algorithm)) }
    self.streams = streams
  }

  /// Whether BLAKE3 is the only algorithm, so that large files may be hashed in parts.
  var isBlake3: Bool { algorithms == [.blake3] }

  /// Whether SHA-256 is the only algorithm, so that short files may be hashed together.
  var isSHA256: Bool { algorithms == [.sha256] }

  /// For pieces of at least this size, the digests are computed on several cores.
  private static let sharedPiece = 256 << 10

  /// Adds the next bytes of the file to every digest; for large pieces several digests at once, if other lanes leave threads
  /// free.
  package func update(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    guard streams.count > 1, bytes.count >= Self.sharedPiece else { return try update(bytes, width: 1) }
    try concurrency.withThreads(upTo: streams.count) { (width) throws(BatchError) in
      try update(bytes, width: width)
    }
  }

  private func update(_ bytes: UnsafeRawBufferPointer, width: Int) throws(BatchError) {
    let bytes = RawSpan(_unsafeBytes: bytes)
    guard width > 1 else {
      for shared in streams {
        try shared.stream.withLock { (stream) throws(BatchError) in try stream.update(bytes) }
      }
      return
    }
    let streams = streams
    let failure = Mutex<BatchError?>(nil)
    perform(width) { first in
      do throws(BatchError) {
        // Each iteration has its own streams, a stride apart.
        for index in stride(from: first, to: streams.count, by: width) {
          try streams[index].stream.withLock { (stream) throws(BatchError) in try stream.update(bytes) }
        }
      } catch {
        failure.withLock { $0 = error }
      }
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  /// The digests of all bytes since the last ones, in the order of the streams.
  ///
  /// After an error, ``reset()`` makes the set ready for the next file.
  package func finish() throws(BatchError) -> [Digest] {
    var digests = [Digest]()
    digests.reserveCapacity(streams.count)
    for shared in streams {
      digests.append(try shared.stream.withLock { (stream) throws(BatchError) in try stream.finish() })
    }
    return digests
  }

  /// Drops the bytes of a file that could not be read to its end.
  package func reset() {
    for shared in streams { shared.stream.withLock { $0.reset() } }
  }
}
