import BatchEngine

/// The digest sets of one lane, one for each list of algorithms in the manifests.
final class DigestPool {
  private let concurrency: ConcurrencyLimit
  private var sets: [[DigestAlgorithm]: DigestSet] = [:]

  init(concurrency: ConcurrencyLimit) {
    self.concurrency = concurrency
  }

  func set(of algorithms: [DigestAlgorithm]) throws(BatchError) -> DigestSet {
    if let known = sets[algorithms] { return known }
    let set = try DigestSet(algorithms, concurrency: concurrency)
    sets[algorithms] = set
    return set
  }

  /// Runs `body` with the set of these algorithms.
  ///
  /// - Returns: the digests, or nil when `body` returns nil.
  func read<Outcome>(
    _ algorithms: [DigestAlgorithm], _ body: (DigestSet) throws(BatchError) -> Outcome?
  ) throws(BatchError) -> [Digest]? {
    let set = try set(of: algorithms)
    guard try body(set) != nil else {
      set.reset()
      return nil
    }
    return try set.finish()
  }
}
