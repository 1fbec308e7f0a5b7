import BatchEngine

/// The places in a record. Only hashes are kept, with a seed that is random for each process.
struct RecordedPlaces {
  /// A recorded directory that is in no other one.
  struct Root: Sendable {
    /// The path in the record.
    let path: PathBytes
    let place: RelativePath
  }

  private var places: Set<Int> = []
  private var folders: Set<Int> = []
  private var found: [Root] = []

  mutating func add(_ path: PathBytes, isDirectory: Bool) {
    guard let place = try? RelativePath(path) else { return }
    places.insert(place.bytes.hashValue)
    guard isDirectory, folders.insert(place.bytes.hashValue).inserted else { return }
    if !isInside(place) { found.append(Root(path: path, place: place)) }
  }

  func has(_ place: [UInt8]) -> Bool { places.contains(place.hashValue) }

  /// The directories to search for new paths. Read after all paths were added.
  var roots: [Root] { found.filter { !isInside($0.place) } }

  private func isInside(_ place: RelativePath) -> Bool {
    var rest = place.bytes[...]
    while !rest.isEmpty {
      rest = rest[..<(rest.lastIndex(of: UInt8(ascii: "/")) ?? rest.startIndex)]
      if folders.contains(Array(rest).hashValue) { return true }
    }
    return false
  }
}

/// The beginnings of recorded digests, by the hashes of their places. A hard link is compared with the latest earlier record of
/// its target.
struct RecordedDigests {
  private var starts: [Int: UInt128] = [:]

  /// Adds the next record; a record without a digest replaces an earlier one of the same name.
  mutating func add(_ path: PathBytes, _ digest: Digest?) {
    guard let place = try? RelativePath(path) else { return }
    starts[place.bytes.hashValue] = digest.map { Self.start(of: $0) }
  }

  /// Whether a digest is the one recorded at a place; nil if unknown.
  func isContent(_ digest: Digest, of place: RelativePath) -> Bool? {
    starts[place.bytes.hashValue].map { $0 == Self.start(of: digest) }
  }

  private static func start(of digest: Digest) -> UInt128 {
    digest.bytes.prefix(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
  }
}
