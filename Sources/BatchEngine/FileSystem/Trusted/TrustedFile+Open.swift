import CLinux
import Glibc

extension TrustedFile {
  /// Checks an open folder whose files control a run, and the folders above it.
  ///
  /// The folders above are opened from the folder itself, so links in its path do not matter. For root, only root may be able to
  /// rename the folder; a sticky folder above is accepted, since other users cannot rename in it. For other users only a folder above
  /// that everybody may write to is refused: projects usually share folders by a group.
  ///
  /// - Throws: `untrusted` when another user can change or replace the folder.
  package func check(_ folder: OpenFolder) throws(BatchError) {
    try check(folder.status, at: folder.path)
    let path = (try? folder.path.resolved()) ?? folder.path
    var (inner, place) = (folder, path)
    while true {
      let opened = inner.open("..", flags: clinux_o_path | O_DIRECTORY)
      // Without permission to search it, this user cannot know what is above; its own files are checked.
      guard opened >= 0 else { return }
      let outer = try OpenFolder(Descriptor(owning: opened), path: place.parent, calls: calls)
      if outer.identity == inner.identity { return }
      place = place.parent
      try checkAbove(outer.status, at: place)
      inner = outer
    }
  }

  /// Checks an open file or folder that controls a run.
  ///
  /// - Throws: `untrusted` when another user can write to it.
  package func check(_ status: FileStatus, at path: PathBytes) throws(BatchError) {
    guard let reason = distrust(of: status) else { return }
    throw Self.untrusted(
      path, reason,
      remedy: isTrusted(owner: status.owner)
        ? "take this right from them: chmod go-w"
        : "run the command as that user, or make a new one; chown it only if you know what is in it")
  }

  private func checkAbove(_ status: FileStatus, at path: PathBytes) throws(BatchError) {
    let isSticky = status.mode & S_ISVTX != 0
    let reason: String?
    if user == 0 {
      reason = isSticky && isTrusted(owner: status.owner) ? nil : distrust(of: status)
    } else {
      reason = isSticky || status.mode & S_IWOTH == 0 ? nil : "all users may write to it"
    }
    guard let reason else { return }
    throw Self.untrusted(
      path, "\(reason), and can exchange what is in it",
      remedy: "use a folder that only its owner may write to, below folders of root")
  }

  private static func untrusted(_ path: PathBytes, _ reason: String, remedy: Remedy) -> BatchError {
    BatchError(.untrusted, "is refused, since \(reason)", path: path, remedy: remedy)
  }
}
