import BatchEngine

/// The places that a record has, of which only hashes are kept; the seed is this process's own.
struct RecordedPlaces {
  /// A recorded directory that lies in no other one.
  struct Root: Sendable {
    /// As the record has it.
    let path: PathBytes
    let place: RelativePath
  }

  private var places: Set<Int> = []
  private var folders: Set<Int> = []
  private var found: [Root] = []

  /// Adds what is recorded next.
  mutating func add(_ path: PathBytes, isDirectory: Bool) {
    guard let place = try? RelativePath(path) else { return }
    places.insert(place.bytes.hashValue)
    guard isDirectory, folders.insert(place.bytes.hashValue).inserted else { return }
    if !isInside(place) { found.append(Root(path: path, place: place)) }
  }

  /// Whether the record has something there.
  func has(_ place: [UInt8]) -> Bool { places.contains(place.hashValue) }

  /// The directories to look through for what is new, when all is added.
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

/// The beginnings of recorded digests, by the hashes of their places. A hard link is compared with what had the name
/// before it.
struct RecordedDigests {
  private var starts: [Int: UInt128] = [:]

  /// Adds what is recorded next; without a digest it takes the name from what had it before.
  mutating func add(_ path: PathBytes, _ digest: Digest?) {
    guard let place = try? RelativePath(path) else { return }
    starts[place.bytes.hashValue] = digest.map { Self.start(of: $0) }
  }

  /// Whether a digest is that of what is recorded at a place; nil when that is not known.
  func isContent(_ digest: Digest, of place: RelativePath) -> Bool? {
    starts[place.bytes.hashValue].map { $0 == Self.start(of: digest) }
  }

  private static func start(of digest: Digest) -> UInt128 {
    digest.bytes.prefix(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
  }
}
