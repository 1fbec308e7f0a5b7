import BatchEngine
import Synchronization

/// A folder that an archive is held against: what the archive has of it, and where to look for what it has not.
public final class LiveTree: Sendable {
  /// A directory of the archive that lies in no other one of it.
  struct Root: Sendable {
    /// As the archive has it.
    let path: PathBytes
    let place: MemberPath
  }

  private struct State {
    /// The beginning of the digest of each member, 0 without one, by the hash of its place; the seed is this
    /// process's own.
    var members: [Int: UInt128] = [:]
    var folders: Set<Int> = []
    var roots: [Root] = []
  }

  public let path: PathBytes
  let folder: ExtractionFolder
  let owners = OwnerNames()
  private let walk: WalkOptions
  private let run: RunContext
  private let state = Mutex(State())

  /// - Parameters:
  ///   - path: the folder that the names of the members begin in.
  ///   - walk: what of the folder counts as new.
  ///   - run: that compares.
  /// - Throws: the error of opening the folder.
  public init(_ path: PathBytes, options walk: WalkOptions, run: RunContext) throws(BatchError) {
    self.path = path
    self.run = run
    self.walk = walk
    folder = try ExtractionFolder(path)
  }

  /// Notes a member; in the order of the archive, and before it is compared.
  func register(_ path: PathBytes, _ kind: ArchiveEntry.Kind, _ digest: Digest? = nil) {
    guard let place = try? MemberPath(path) else { return }
    let start = digest.map { $0.bytes.prefix(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) } } ?? 0
    state.withLock { state in
      state.members[place.bytes.hashValue] = start
      guard kind == .directory, state.folders.insert(place.bytes.hashValue).inserted else { return }
      if !Self.isInside(place, state.folders) { state.roots.append(Root(path: path, place: place)) }
    }
  }

  /// Whether the archive has something there.
  func has(_ place: [UInt8]) -> Bool {
    state.withLock { $0.members[place.hashValue] != nil }
  }

  /// Whether a digest is that of a member; nil when the member's is not known.
  func isContent(_ digest: Digest, of place: MemberPath) -> Bool? {
    let start = digest.bytes.prefix(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
    let known = state.withLock { $0.members[place.bytes.hashValue] }
    return known.flatMap { $0 == 0 ? nil : $0 == start }
  }

  /// The directories to look through for what is new, when all members are known.
  var roots: [Root] {
    state.withLock { state in state.roots.filter { !Self.isInside($0.place, state.folders) } }
  }

  /// A walk of one of them.
  func tree(below root: Root) -> TreeSource {
    run.tree([path(of: root.place)], options: walk)
  }

  /// Where a member lies.
  func path(of place: MemberPath) -> PathBytes {
    place.bytes.isEmpty ? path : path.appending(place.bytes)
  }

  private static func isInside(_ place: MemberPath, _ folders: Set<Int>) -> Bool {
    var rest = place.bytes[...]
    while !rest.isEmpty {
      rest = rest[..<(rest.lastIndex(of: UInt8(ascii: "/")) ?? rest.startIndex)]
      if folders.contains(Array(rest).hashValue) { return true }
    }
    return false
  }
}
