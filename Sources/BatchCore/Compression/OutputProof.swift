/// Proves that an output holds what its source held, by reading it back.
enum OutputProof {
  /// - Throws: `unwritable` when what comes back is not what it should be.
  static func prove(
    _ file: AtomicFile, has expected: Digest, _ decoder: StreamDecoder, _ digest: DigestStream
  ) throws(BatchError) {
    decoder.reset()
    digest.reset()
    do throws(BatchError) {
      try file.readBack { (piece) throws(BatchError) in
        try plainly { () throws(DecodingError) in
          try decoder.decode(piece) { (content) throws(BatchError) in try digest.update(content) }
        }
      }
      try plainly { () throws(DecodingError) in try decoder.finish() }
      guard try digest.finish() == expected else {
        throw BatchError(
          .unwritable, "the output that was read back differs from its source", path: file.target)
      }
    } catch {
      throw error.path == nil ? error.at(file.target) : error
    }
  }

  private static func plainly(_ body: () throws(DecodingError) -> Void) throws(BatchError) {
    do throws(DecodingError) {
      try body()
    } catch {
      switch error {
      case .failed(let error): throw error
      case .damaged(let damage):
        throw BatchError(.unwritable, "the output that was read back is \(damage.message)")
      }
    }
  }
}
