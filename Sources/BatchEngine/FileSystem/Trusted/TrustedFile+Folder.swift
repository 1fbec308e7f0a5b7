import Glibc

extension TrustedFile {
  /// The kernel follows this many links in a path.
  private static let mostLinks = 40

  /// Resolves the path of a folder, and checks it and every folder and link on the way.
  ///
  /// After this, only root and the user can change what the resulting path leads to, so it is safe to open it by path.
  ///
  /// - Parameters:
  ///   - path: an absolute one.
  ///   - isOnTheWay: whether a folder inside it will be checked next; then it may be a sticky folder that all users can write to.
  /// - Returns: the path without links.
  /// - Throws: the error of a system call; `.malformed` for anything but a folder; `.unreadable` if another user can change the
  ///   path, with the folder concerned.
  package func folder(_ path: PathBytes, isOnTheWay: Bool = false) throws(BatchError) -> PathBytes {
    var place = PathBytes("/")
    var names = Array(path.bytes.split(separator: UInt8(ascii: "/")).reversed())
    var links = 0
    try check(place, try status(of: place), isLast: names.isEmpty && !isOnTheWay)
    while let name = names.popLast() {
      if name.elementsEqual(".".utf8) { continue }
      if name.elementsEqual("..".utf8) {
        place = place.parent
        continue
      }
      let next = place.appending(name)
      let status = try status(of: next)
      guard status.kind == .symbolicLink else {
        try check(next, status, isLast: names.isEmpty && !isOnTheWay)
        place = next
        continue
      }
      links += 1
      guard links <= Self.mostLinks else { throw .syscall("resolve", errno: ELOOP, path: path) }
      // The mode of a link has no meaning; its folder decides who may replace it.
      if !isTrusted(owner: status.owner) { throw Self.refusal("it belongs to another user", next) }
      let target = try LinkTarget.read(next, in: AT_FDCWD)
      if target.isAbsolute { place = PathBytes("/") }
      names += target.bytes.split(separator: UInt8(ascii: "/")).reversed()
    }
    // A path that ends in a link or in dots was not yet checked as the last folder.
    try check(place, try status(of: place), isLast: !isOnTheWay)
    return place
  }

  /// Checks a file that may be missing, without following a link.
  ///
  /// - Throws: `.malformed` for anything but a regular file; `.unreadable` for a file that belongs to another user or that others can
  ///   write.
  package func checkFile(_ path: PathBytes) throws(BatchError) {
    let status: FileStatus
    do throws(BatchError) {
      status = try self.status(of: path)
    } catch {
      guard error.errno == ENOENT else { throw error }
      return
    }
    guard status.kind == .regular else {
      throw BatchError(.malformed, "is \(status.kind.text), not a regular file", path: path)
    }
    if let reason = distrust(of: status) { throw Self.refusal(reason, path) }
  }

  private func check(_ path: PathBytes, _ status: FileStatus, isLast: Bool) throws(BatchError) {
    guard status.kind == .directory else { throw .syscall("open", errno: ENOTDIR, path: path) }
    // In a sticky folder such as /tmp users cannot rename or remove files of other users.
    if !isLast, status.mode & S_ISVTX != 0, isTrusted(owner: status.owner) { return }
    if let reason = distrust(of: status) { throw Self.refusal(reason, path) }
  }
}
