import BatchEngine

/// The set whose copies a remote has, so that a set with the same name never replaces or removes them.
///
/// The file `.NAME.copy` beside the copies has the id of the set. It is not the file of the id itself: a disk with copies must
/// not be taken for the disk of the set.
struct CopyOrigin {
  private let set: BackupSet
  private let remote: any Remote
  private let there: [PathBytes: UInt64]
  private let run: RunContext

  /// - Parameter there: the files of the remote.
  init(of set: BackupSet, at remote: any Remote, _ there: [PathBytes: UInt64], in run: RunContext) {
    self.set = set
    self.remote = remote
    self.there = there
    self.run = run
  }

  private func isThere(_ name: PathBytes) -> Bool { there[name] != nil }

  /// Marks the copies as copies of this set.
  ///
  /// - Throws: `invalid` when they may belong to another set; nothing has been changed then.
  func claim(_ content: BackupSet.Content) throws(BatchError) {
    let files = [set.idPath, set.originPath]
    let own = files.first { SetID.read($0) != nil }
    let mark = PathBytes(set.originPath.lastComponent)
    var isMarked = false
    for file in files.map({ PathBytes($0.lastComponent) }) where isThere(file) {
      guard let id = SetID.parse(try remote.part(0..<SetID.longest, of: file)), let own else { continue }
      guard id == SetID.read(own) else {
        throw BatchError(
          .invalid, "the snapshots '\(set.name)' there belong to another set: nothing is copied or removed",
          path: remote.place,
          remedy: file == mark
            ? "copy to another place; if they are copies of this set, remove \(mark) there"
            : "copy to another place")
      }
      isMarked = true
    }
    if isMarked { return }
    try compare(content)
    // A set of an early version has no id.
    if let own { try remote.put(own, as: mark, isNew: there[mark] == nil) }
  }

  /// Compares the manifests that both places have.
  private func compare(_ content: BackupSet.Content) throws(BatchError) {
    let snapshots = content.snapshots
    let manifests = there.keys.filter { file in
      SnapshotName.of(file).map { $0.set == set.name && $0.manifest == file } ?? false
        && !content.markers.contains(file)
    }
    guard !manifests.isEmpty else { return }
    var isKnown = false
    for snapshot in snapshots where isThere(snapshot.name.manifest) {
      let file = snapshot.name.manifest
      if try remote.digest(of: file) == BackupSet.digest(of: set.path(file), in: run) {
        isKnown = true
        continue
      }
      do throws(BatchError) {
        try set.check(snapshot, in: run)
      } catch {
        // It is damaged here, which is reported later.
        try run.cancellation.check()
        continue
      }
      throw BatchError(
        .invalid,
        "\(file) there is not the manifest of this set: nothing is copied or removed", path: remote.place,
        remedy: "copy to another place; if it is a damaged copy, remove it there")
    }
    guard !isKnown else { return }
    throw BatchError(
      .invalid,
      "the snapshots '\(set.name)' there may belong to another set, since none of them is here: nothing is copied or removed",
      path: remote.place,
      remedy:
        "copy to another place; if they are copies of this set, put a copy of \(set.idPath) there as \(PathBytes(set.originPath.lastComponent))"
    )
  }
}
