/// Finds the members of an archive that a later member of the same name supersedes.
///
/// Of each name a hash of 64 bits and a number are kept, some 24 bytes.
struct SupersededMembers {
  private var last: [Int: UInt32] = [:]

  /// Adds the next member.
  ///
  /// - Parameters:
  ///   - path: as it stands in the archive.
  ///   - number: larger than that of the member before.
  /// - Returns: the number of the member that it supersedes; nil for most.
  mutating func add(_ path: PathBytes, _ number: Int) -> Int? {
    let place = (try? MemberPath(path))?.bytes ?? path.bytes
    return last.updateValue(UInt32(truncatingIfNeeded: number), forKey: place.hashValue).map { Int($0) }
  }
}
