import BatchEngine

/// Decides about each member, in the order of the archive: whether it is selected, where it goes, and whether that is safe.
final class ExtractionPlanner {
  let selection: MemberSelection
  /// One block: most file systems use one for each folder.
  private static let bytesOfFolder: UInt64 = 4096

  private let limits: PathLimits
  /// Hashes of refused folders.
  private var refused: Set<Int> = []
  private var claims = MemberClaims()
  private var matches: GlobMatches
  private let globs: [PathBytes]
  /// For texts that may be names or globs, because the archive is a stream: how they have selected members so far.
  private var named: Set<Int> = []
  private var guessed: Set<Int> = []
  /// Whether a leading slash was removed from a name.
  private(set) var strippedSlash = false

  /// - Parameter limits: the limits for folders of members.
  init(_ selection: MemberSelection, globs: [PathBytes], limits: PathLimits = PathLimits()) {
    self.selection = selection
    matches = GlobMatches(globs)
    self.globs = globs
    self.limits = limits
  }

  /// The size that counts for the folders of members, in bytes.
  var bytesOfFolders: UInt64 { UInt64(claims.folderCount) * Self.bytesOfFolder }

  var unmatched: [UnmatchedGlob] { matches.unmatched }

  /// Whether no pattern chooses among the members.
  var takesEverything: Bool { selection.takesEverything }

  func chooses(_ path: PathBytes, isDirectory: Bool) -> Bool {
    guard !takesEverything else { return true }
    // A path that leads out is refused later, and only if it was selected.
    guard let member = try? RelativePath(path) else { return selection.count == 0 }
    guard !selection.excludes(member, isDirectory: isDirectory) else { return false }
    guard selection.count > 0 else { return true }
    let found = selection.matches(member, isDirectory: isDirectory).filter { number, match in
      guard selection.isAmbiguous(number) else { return true }
      if match == .name { named.insert(number) } else if !named.contains(number) { guessed.insert(number) }
      return match == .name || !named.contains(number)
    }
    guard !found.isEmpty else {
      matches.look(at: member.bytes)
      return false
    }
    matches.note(found.map(\.number))
    return true
  }

  /// The texts that are names, but selected members as globs before these names were found in the stream.
  var wrongGuesses: [BatchError] {
    named.intersection(guessed).sorted().map { number in
      BatchError(
        .invalid, "is a name, but earlier members of the stream were taken because they match it as a glob",
        path: globs[number], remedy: .giveFileOrName)
    }
  }

  /// Claims a place for a member, in the order of the archive; the last member with a place gets it.
  ///
  /// - Returns: nil if its path is empty after stripping.
  func claim(_ path: PathBytes, _ kind: ArchiveEntry.Kind) -> SegmentPlan.Disposition? {
    do throws(BatchError) {
      return try disposition(path, kind)
    } catch {
      return .refused(error)
    }
  }

  private func disposition(
    _ path: PathBytes, _ kind: ArchiveEntry.Kind
  ) throws(BatchError) -> SegmentPlan.Disposition? {
    let member = try RelativePath(path)
    guard let place = selection.place(of: member) else { return nil }
    if let (folder, excess) = limits.excess(of: kind == .directory ? place.bytes[...] : place.parent) {
      guard refused.insert(folder.hashValue).inserted else { return .belowRefused }
      throw excess.error(at: PathBytes(folder))
    }
    guard !place.bytes.isEmpty || kind == .directory else {
      throw BatchError(.invalid, "refused: its path is the target folder itself", path: path)
    }
    if member.wasAbsolute { strippedSlash = true }
    return .make(try claims.claim(place, kind, path: path))
  }
}

extension MemberSelection {
  /// Where a member goes; nil for a refused member, or if its path is empty after stripping.
  package func place(of path: PathBytes) -> RelativePath? {
    (try? RelativePath(path)).flatMap { place(of: $0) }
  }

  /// The order for a member whose place was claimed.
  ///
  /// - Returns: nil for a member whose path is empty after stripping.
  /// - Throws: `invalid` for a member that is refused.
  func order(for entry: ArchiveEntry, wait: MemberClaims.Wait) throws(BatchError) -> ExtractionOrder? {
    let path = try RelativePath(entry.path)
    guard let place = self.place(of: path) else { return nil }
    var entry = entry
    names?.describe(&entry, named: path.bytes)
    var order = ExtractionOrder(entry: entry, place: place, wait: wait)
    order.isOnWay = entry.kind == .directory && names?.isOnWay(path.bytes) ?? false
    if entry.kind == .hardLink {
      let target = try Self.target(of: entry)
      guard let linkPlace = self.place(of: target) else {
        throw BatchError(.invalid, "refused: nothing is left of the path that it links to", path: entry.path)
      }
      order.linkPlace = linkPlace
    }
    return order
  }

  private static func target(of entry: ArchiveEntry) throws(BatchError) -> RelativePath {
    do throws(BatchError) {
      return try RelativePath(entry.linkTarget ?? "")
    } catch {
      throw BatchError(.invalid, "refused: a hard link that leads outside", path: entry.path)
    }
  }
}
