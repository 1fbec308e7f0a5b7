/// Finds names that occur more than once.
///
/// Only a 64-bit hash of each name is kept, with a key that is random for each process. The probability that two of a million
/// names have the same hash is 3 in 100 million.
struct RepeatedNames {
  private var hashes: [Int] = []

  /// - Parameter count: the most names that will be added; memory for them is allocated at once, because growing would need
  ///   twice as much.
  init(upTo count: Int) {
    hashes.reserveCapacity(count)
  }

  mutating func add(_ name: [UInt8]) { hashes.append(name.hashValue) }

  /// Returns the hashes of the names that occurred more than once, and removes all names.
  mutating func takeAll() -> Set<Int> {
    hashes.sort()
    var repeated: Set<Int> = []
    for (hash, next) in zip(hashes, hashes.dropFirst()) where hash == next { repeated.insert(hash) }
    hashes = []
    return repeated
  }
}
