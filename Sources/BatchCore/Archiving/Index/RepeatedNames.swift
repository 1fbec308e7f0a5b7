/// Finds names that come more than once among many.
///
/// Of each only a hash of 64 bits is kept, whose key is this process's own. That two of a million names have the same one has
/// a chance of 3 in 100 million.
struct RepeatedNames {
  private var hashes: [Int] = []

  /// - Parameter count: how many names will come at most; the room for them is taken at once, since growing would need twice
  ///   as much.
  init(upTo count: Int) {
    hashes.reserveCapacity(count)
  }

  mutating func add(_ name: [UInt8]) { hashes.append(name.hashValue) }

  /// The hashes of the names that came more than once; all names are forgotten.
  mutating func takeAll() -> Set<Int> {
    hashes.sort()
    var repeated: Set<Int> = []
    for (hash, next) in zip(hashes, hashes.dropFirst()) where hash == next { repeated.insert(hash) }
    hashes = []
    return repeated
  }
}
