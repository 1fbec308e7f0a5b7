import BatchEngine

/// The sources of a snapshot. Lists with the same digest are equal.
package struct SourceList: Sendable, Hashable {
  /// The most bytes of the paths in the first line of a manifest. A longer list is recorded by its digest alone.
  private static let longest = 4096

  /// Absolute, in the order of their bytes; nil when only the digest is known.
  package let paths: [PathBytes]?
  /// The SHA-256 of the paths, separated by NULs.
  let digest: Digest

  /// - Parameter paths: absolute.
  init(_ paths: [PathBytes]) throws(BatchError) {
    self.paths = paths
    digest = try Digest.sha256(of: Self.joined(paths))
  }

  private static func joined(_ paths: [PathBytes]) -> [UInt8] {
    Array(paths.map(\.bytes).joined(separator: [0]))
  }

  package static func == (one: SourceList, other: SourceList) -> Bool { one.digest == other.digest }

  package func hash(into hasher: inout Hasher) { hasher.combine(digest) }

  /// Whether each of the sources is one of the others, or below one; false if paths are unknown.
  func isCovered(by others: SourceList) -> Bool {
    guard let paths, let others = others.paths else { return false }
    let places = Set(others)
    return paths.allSatisfy { path in
      var place = path
      while !places.contains(place) {
        guard place.bytes.count > 1 else { return false }
        place = place.parent
      }
      return true
    }
  }

  // MARK: JSON

  func append(to line: inout JSONLine) {
    let joined = Self.joined(paths ?? [])
    if paths != nil, joined.count <= Self.longest {
      line.add(path: PathBytes(joined), as: "sources")
    } else {
      line.add("sources_sha256", digest.hex)
    }
  }

  /// - Returns: nil when the line has no list.
  /// - Throws: `malformed` for an invalid list.
  static func read(_ line: SnapshotLine) throws(BatchError) -> SourceList? {
    if let joined = try line.name("sources") {
      let paths = joined.split(separator: 0, omittingEmptySubsequences: false).map { PathBytes($0) }
      guard paths.allSatisfy(\.isAbsolute) else { throw SnapshotLine.malformed("sources") }
      return try SourceList(paths)
    }
    guard line.has("sources_sha256") else { return nil }
    guard let digest = line.digest("sources_sha256") else { throw SnapshotLine.malformed("sources_sha256") }
    return SourceList(paths: nil, digest: digest)
  }

  private init(paths: [PathBytes]?, digest: Digest) {
    self.paths = paths
    self.digest = digest
  }
}
