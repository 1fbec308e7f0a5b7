import BatchEngine

/// The members of an archive that are needed, by the rows that name them.
struct NeededMembers: Sendable {
  /// Members with content or metadata of their own, which the archive must have. Files have the digests of the rows.
  private(set) var contents = MemberNames()
  /// Further names of files, as hard links; they are kept if the archive has them.
  private var links = MemberNames()

  var isEmpty: Bool { contents.count == 0 }

  /// How many names must be found.
  var count: Int { contents.count }

  /// - Throws: `malformed` for a name that leads outside of the folder to which members are extracted.
  mutating func insert(_ name: PathBytes, _ digest: Digest?) throws(BatchError) {
    try contents.insert(try RelativePath(name).bytes, digest)
  }

  mutating func insert(link name: PathBytes) throws(BatchError) {
    try links.insert(try RelativePath(name).bytes)
  }

  func contains(_ name: PathBytes) -> Bool {
    guard let name = try? RelativePath(name).bytes else { return false }
    return contents.contains(name) || links.contains(name)
  }

  /// Compares the members of an index with the rows.
  ///
  /// If several members have one name, the last one counts. A hard link has the content of an earlier member.
  ///
  /// - Returns: the first contradiction; nil if all members are there, with the digests of the rows.
  func contradiction(
    _ index: MemberIndex, _ cancellation: Cancellation
  ) throws(BatchError) -> BatchError? {
    let superseded = try SupersededMembers(index, cancellation)
    var found = 0
    var wrong: PathBytes?
    try index.forEachMember(cancellation) { number, member in
      guard superseded.mark(of: number) != .superseded, let name = try? RelativePath(member.path).bytes,
        contents.contains(name)
      else { return }
      found += 1
      guard let expected = contents.digest(of: name), member.kind != .hardLink else { return }
      if member.kind != .file || member.digest != expected { wrong = wrong ?? member.path }
    }
    if let wrong {
      return BatchError(.malformed, "a member has not the content that snapshots need", path: wrong)
    }
    guard found < count else { return nil }
    return BatchError(.malformed, "\(count - found) members that snapshots need are not in it")
  }
}
