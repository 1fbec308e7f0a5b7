import BatchEngine

/// Judges an archive at a remote that is not the one of the set: a compaction here or there may have left other members in it.
struct CopiedForm {
  enum Finding {
    /// The remote has what the snapshots need.
    case equal
    /// The archive here has all that the other one has, and more.
    case different
    /// The snapshots here that need it cannot be copied, because neither archive may replace the other.
    case lacking(String)
  }

  let set: BackupSet
  let remote: any Remote
  /// The sizes of the files at the remote, before anything was copied.
  let there: [PathBytes: UInt64]
  /// In the order of their numbers.
  let snapshots: [Snapshot]
  let comparesContents: Bool
  /// The directory for fetched parts.
  let temporary: PathBytes
  let run: RunContext

  /// - Parameter size: that of the archive at the remote.
  func finding(of name: SnapshotName, _ size: UInt64) throws(BatchError) -> Finding {
    // An archive with a manifest was not compacted.
    if snapshots.contains(where: { $0.name == name }) { return .different }
    return try name.isEncrypted ? finding(ofEncrypted: name, size) : finding(ofPlain: name, size)
  }

  /// - Parameter digest: of the archive at the remote, which has the size of the one here.
  /// - Returns: nil if they are the same form, and one of them is damaged.
  func findingOfSameSize(
    of name: SnapshotName, _ size: UInt64, _ digest: Digest?
  ) throws(BatchError) -> Finding? {
    if snapshots.contains(where: { $0.name == name }) { return nil }
    if name.isEncrypted {
      guard (try? set.companion(of: name))?.origin != nil,
        companionThere(name)?.archives.contains(where: { $0.digest == digest }) == true
      else { return nil }
      return try finding(ofEncrypted: name, size)
    }
    guard let own = try? index(set.archive(name, in: SourceContext(run))), own.origin != nil,
      let other = try indexThere(name, size), other.digest != own.digest
    else { return nil }
    return try finding(own, other, name)
  }

  private func isOriginal(
    _ origin: StoredArchive?, _ name: SnapshotName, _ size: UInt64
  ) throws(BatchError) -> Bool {
    guard let origin, origin.size == size else { return false }
    if !comparesContents { return true }
    return try remote.digest(of: name.archive) == origin.digest
  }

  // MARK: Archives with a readable index

  private func finding(ofPlain name: SnapshotName, _ size: UInt64) throws(BatchError) -> Finding {
    let own: MemberIndex
    do throws(BatchError) {
      own = try index(set.archive(name, in: SourceContext(run)))
    } catch {
      try run.cancellation.check()
      guard error.code == .malformed else { throw error }
      return .lacking("is damaged (\(error.message)), and does not replace its copy at \(remote.place)")
    }
    if try isOriginal(own.origin, name, size) { return .equal }
    guard let other = try indexThere(name, size) else {
      return try isNeededThere(name, isCompacted: own.origin != nil) ? lost(name) : .different
    }
    return try finding(own, other, name)
  }

  private func finding(
    _ own: MemberIndex, _ other: MemberIndex, _ name: SnapshotName
  ) throws(BatchError) -> Finding {
    let needed = try set.needs(of: [name], by: snapshots, in: run)[name] ?? NeededMembers()
    if try needed.contradiction(other, run.cancellation) == nil { return .equal }
    return try hasAll(own, of: other)
      ? .different
      : .lacking(
        "its copy at \(remote.place) lacks members that snapshots here need, and has others that are missing here"
      )
  }

  private func index(_ file: ArchiveFile) throws(BatchError) -> MemberIndex {
    try ArchiveCompactor.open(file, memory: run.options.memory, by: run.reading).index
  }

  /// - Returns: nil if the archive at the remote has no valid index.
  private func indexThere(_ name: SnapshotName, _ size: UInt64) throws(BatchError) -> MemberIndex? {
    let folder = try FolderOpener(calls: run.calls).folder(named: temporary)
    let file = try RemoteFile(set.path(name.archive), size: size, at: remote, temporary: folder)
    do throws(BatchError) {
      return try index(try ArchiveFile(file, in: SourceContext(run)))
    } catch {
      try run.cancellation.check()
      guard [.malformed, .unsupported].contains(error.code) else { throw error }
      return nil
    }
  }

  private func hasAll(_ own: MemberIndex, of other: MemberIndex) throws(BatchError) -> Bool {
    var members = NeededMembers()
    let superseded = try SupersededMembers(other, run.cancellation)
    var failure: BatchError?
    try other.forEachMember(run.cancellation) { number, member in
      guard superseded.mark(of: number) != .superseded else { return }
      do throws(BatchError) {
        try members.insert(member.path, member.digest)
      } catch {
        failure = error
      }
    }
    guard failure == nil else { return false }
    return try members.contradiction(own, run.cancellation) == nil
  }

  // MARK: Encrypted archives

  /// Without a key the companions decide.
  private func finding(ofEncrypted name: SnapshotName, _ size: UInt64) throws(BatchError) -> Finding {
    guard let own = try? set.companion(of: name) else { return .different }
    for form in own.archives + [own.origin].compactMap({ $0 }) {
      if try isOriginal(form, name, size) { return .equal }
    }
    guard let other = companionThere(name), let form = other.archive(ofSize: size),
      other.origin ?? other.archive == own.origin ?? own.archive
    else {
      let isCompacted = own.origin != nil || own.replacement != nil
      return try isNeededThere(name, isCompacted: isCompacted) ? lost(name) : .different
    }
    if comparesContents, try remote.digest(of: name.archive) != form.digest {
      return .lacking("its copy at \(remote.place) differs from the companion there")
    }
    // A snapshot needs no more of an older archive than the ones between them, and a compaction there has kept what these need.
    if let first = snapshots.first(where: { $0.archives.contains(name) }), there[first.name.manifest] != nil {
      return .equal
    }
    return .lacking(
      "was compacted at \(remote.place), and the oldest snapshot here that needs it is not there")
  }

  /// Whether the companion at the remote describes the archive there.
  ///
  /// Two compactions of an encrypted archive may have the same size, but not the same digest.
  ///
  /// - Parameters:
  ///   - own: the companion here.
  ///   - isSame: whether the archive there is known to be the one here.
  func isDescribed(_ name: SnapshotName, _ own: Companion, isSame: Bool) -> Bool {
    guard let other = companionThere(name) else { return false }
    guard !isSame, let size = there[name.archive] else { return other == own }
    return other.archive(ofSize: size) != nil && other.origin ?? other.archive == own.origin ?? own.archive
  }

  func companionThere(_ name: SnapshotName) -> Companion? {
    guard there[name.companion] != nil else { return nil }
    return try? Companion(try remote.part(0..<UInt64(Companion.largest), of: name.companion))
  }

  // MARK: Files that are no whole archive

  private func lost(_ name: SnapshotName) -> Finding {
    .lacking(
      "was compacted here, and its copy at \(remote.place), which other copies need, is not a whole archive")
  }

  /// Whether a snapshot at the remote needs the archive; a compacted one must not replace it then.
  private func isNeededThere(_ name: SnapshotName, isCompacted: Bool) throws(BatchError) -> Bool {
    guard isCompacted else { return false }
    let copies: RemoteSet
    do throws(BatchError) {
      copies = try RemoteSet(remote, named: set.name, keys: nil, temporary: temporary, in: run)
    } catch {
      guard error.code == .missing else { throw error }
      return false
    }
    let content = try copies.content()
    return !content.damaged.isEmpty || content.snapshots.contains { $0.archives.contains(name) }
  }
}
