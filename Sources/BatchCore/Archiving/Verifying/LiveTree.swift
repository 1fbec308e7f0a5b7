import BatchEngine

/// A folder that the members of an archive are compared with.
package final class LiveTree: Sendable {
  package let path: PathBytes
  let folder: ExtractionFolder
  private let walk: WalkOptions
  private let run: RunContext

  /// - Parameters:
  ///   - path: the folder that the names of the members begin in.
  ///   - walk: what of the folder counts as new.
  ///   - run: that compares.
  /// - Throws: the error of opening the folder.
  package init(_ path: PathBytes, options walk: WalkOptions, run: RunContext) throws(BatchError) {
    self.path = path
    self.run = run
    self.walk = walk
    folder = try ExtractionFolder(path)
  }

  /// A walk of what lies below a place.
  func tree(below place: MemberPath) -> TreeSource {
    run.tree([path(of: place)], options: walk)
  }

  /// Where a member lies.
  func path(of place: MemberPath) -> PathBytes {
    place.bytes.isEmpty ? path : path.appending(place.bytes)
  }
}

/// The places that the members of an archive have, of which only hashes are kept; the seed is this process's own.
struct MemberPlaces {
  /// A directory of the archive that lies in no other one of it.
  struct Root: Sendable {
    /// As the archive has it.
    let path: PathBytes
    let place: MemberPath
  }

  private var members: Set<Int> = []
  private var folders: Set<Int> = []
  private var found: [Root] = []

  /// Adds the next member.
  mutating func add(_ path: PathBytes, _ kind: ArchiveEntry.Kind) {
    guard let place = try? MemberPath(path) else { return }
    members.insert(place.bytes.hashValue)
    guard kind == .directory, folders.insert(place.bytes.hashValue).inserted else { return }
    if !isInside(place) { found.append(Root(path: path, place: place)) }
  }

  /// Whether the archive has something there.
  func has(_ place: [UInt8]) -> Bool { members.contains(place.hashValue) }

  /// The directories to look through for what is new, when all members are known.
  var roots: [Root] { found.filter { !isInside($0.place) } }

  private func isInside(_ place: MemberPath) -> Bool {
    var rest = place.bytes[...]
    while !rest.isEmpty {
      rest = rest[..<(rest.lastIndex(of: UInt8(ascii: "/")) ?? rest.startIndex)]
      if folders.contains(Array(rest).hashValue) { return true }
    }
    return false
  }
}

/// The beginnings of the digests of members, by the hashes of their places. A hard link is compared with the member
/// that had the name before it.
struct MemberDigests {
  private var starts: [Int: UInt128] = [:]

  /// Adds the next member; one without a digest takes the name from the one before.
  mutating func add(_ path: PathBytes, _ digest: Digest?) {
    guard let place = try? MemberPath(path) else { return }
    starts[place.bytes.hashValue] = digest.map { Self.start(of: $0) }
  }

  /// Whether a digest is that of the member at a place; nil when the member's is not known.
  func isContent(_ digest: Digest, of place: MemberPath) -> Bool? {
    starts[place.bytes.hashValue].map { $0 == Self.start(of: digest) }
  }

  private static func start(of digest: Digest) -> UInt128 {
    digest.bytes.prefix(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
  }
}
