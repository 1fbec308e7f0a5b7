import BatchEngine

/// The digest sets of one lane, one for each list of algorithms that manifests have asked for.
final class DigestPool {
  private let concurrency: ConcurrencyLimit
  private var sets: [[DigestAlgorithm]: DigestSet] = [:]

  init(concurrency: ConcurrencyLimit) {
    self.concurrency = concurrency
  }

  /// Lets `body` feed the set of these algorithms.
  ///
  /// - Returns: the digests, or nil when `body` returns nil.
  func read<Outcome>(
    _ algorithms: [DigestAlgorithm], _ body: (DigestSet) throws(BatchError) -> Outcome?
  ) throws(BatchError) -> [Digest]? {
    let set: DigestSet
    if let known = sets[algorithms] {
      set = known
    } else {
      set = try DigestSet(algorithms, concurrency: concurrency)
      sets[algorithms] = set
    }
    guard try body(set) != nil else {
      set.reset()
      return nil
    }
    return try set.finish()
  }
}
