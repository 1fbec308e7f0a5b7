/// Several digests of each file from one reading of it, on one thread at a time.
public final class DigestSet {
  /// One stream for each algorithm that was asked, in that order.
  public let streams: [DigestStream]

  /// - Throws: as ``DigestStream/init(_:)``.
  public init(_ algorithms: [DigestAlgorithm]) throws(BatchError) {
    var streams = [DigestStream]()
    streams.reserveCapacity(algorithms.count)
    for algorithm in algorithms { streams.append(try DigestStream(algorithm)) }
    self.streams = streams
  }

  /// Adds the next bytes of the file to every digest.
  public func update(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    for stream in streams { try stream.update(bytes) }
  }

  /// The digests of all bytes since the last ones, in the order of the streams.
  ///
  /// After an error, ``reset()`` makes the set ready for the next file.
  public func finish() throws(BatchError) -> [Digest] {
    var digests = [Digest]()
    digests.reserveCapacity(streams.count)
    for stream in streams { digests.append(try stream.finish()) }
    return digests
  }

  /// Forgets the bytes of a file that could not be read to its end.
  public func reset() {
    for stream in streams { stream.reset() }
  }

  /// The digests of a file that is in memory as a whole; forgets bytes that were added before.
  public func digests(of bytes: UnsafeRawBufferPointer) throws(BatchError) -> [Digest] {
    var digests = [Digest]()
    digests.reserveCapacity(streams.count)
    for stream in streams { digests.append(try stream.digest(of: bytes)) }
    return digests
  }
}
