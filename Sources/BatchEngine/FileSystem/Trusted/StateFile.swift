import Glibc

/// Where a state file or a folder of them is.
package struct StatePlace: Sendable, Hashable {
  package let path: PathBytes
  /// Where versions before 1.0 had it, for root. Only what is missing at the path is read from there, and nothing is written.
  package let earlier: PathBytes?

  package init(_ path: PathBytes, earlier: PathBytes? = nil) {
    self.path = path
    self.earlier = earlier
  }

  /// The place of a file in this folder.
  package func appending(_ name: some Collection<UInt8>) -> StatePlace {
    StatePlace(path.appending(name), earlier: earlier?.appending(name))
  }

  /// The paths, in the order in which they are searched.
  package var paths: [PathBytes] { [path] + (earlier.map { [$0] } ?? []) }
}

/// Files in which the program stores what it measured on this machine.
package enum StateFile {
  /// The place for root: that of the units of systemd (`StateDirectory=`), so that a run by hand and a unit have the same records.
  private static let ofRoot: PathBytes = "/var/lib/batchproc"

  /// The place of a state file: below `XDG_STATE_HOME`; otherwise for root in `/var/lib/batchproc`, and for other users below
  /// `.local/state` in their home directory.
  ///
  /// A directory of another user is skipped: `sudo -E` keeps the variables of the calling user.
  ///
  /// - Returns: nil if no directory is usable.
  package static func place(
    _ name: String, isRoot: Bool = StandardStreams.isRoot, environment: (String) -> PathBytes?
  ) -> StatePlace? {
    if let given = usable(environment("XDG_STATE_HOME")) {
      return StatePlace(given.appending("batchproc/\(name)".utf8))
    }
    // The user database may be on another machine, so it is asked last.
    let home = usable(environment("HOME")) ?? usable(homeOfUser)
    let inHome = home?.appending(".local/state/batchproc/\(name)".utf8)
    return isRoot ? StatePlace(ofRoot.appending(name.utf8), earlier: inHome) : inHome.map { StatePlace($0) }
  }

  /// The path of a state file of which no earlier place is searched.
  package static func path(
    _ name: String, isRoot: Bool = StandardStreams.isRoot, environment: (String) -> PathBytes?
  ) -> PathBytes? {
    // Then the home directory is not needed.
    if isRoot, usable(environment("XDG_STATE_HOME")) == nil { return ofRoot.appending(name.utf8) }
    return place(name, isRoot: isRoot, environment: environment)?.path
  }

  /// The home directory in the user database, for a service without `HOME`.
  private static var homeOfUser: PathBytes? {
    guard let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir else { return nil }
    return PathBytes(UnsafeRawBufferPointer(start: home, count: strlen(home)))
  }

  private static func usable(_ folder: PathBytes?) -> PathBytes? {
    guard let folder, folder.isAbsolute else { return nil }
    var raw = stat()
    // A missing directory can be created.
    guard folder.withCString({ stat($0, &raw) }) == 0 else { return folder }
    return isOwn(raw) ? folder : nil
  }

  /// Whether a file or folder exists, and only this user and root can have written it; a link is neither.
  package static func isSafe(_ path: PathBytes) -> Bool {
    var raw = stat()
    return path.withCString { lstat($0, &raw) } == 0 && raw.st_mode & S_IFMT != S_IFLNK && isSafe(raw)
  }

  private static func isSafe(_ raw: stat) -> Bool { isOwn(raw) && raw.st_mode & 0o002 == 0 }

  private static func isOwn(_ raw: stat) -> Bool { raw.st_uid == geteuid() || raw.st_uid == 0 }

  /// - Returns: nil when there is no such file.
  /// - Throws: `unreadable` for a file that another user could have written; the error of reading it.
  package static func read(_ path: PathBytes) throws(BatchError) -> [UInt8]? {
    do throws(BatchError) {
      return try SmallFile.readRegular(path) { (raw) throws(BatchError) in
        guard isSafe(raw) else {
          throw BatchError(
            .unreadable, "is not used, since other users could have written it", path: path)
        }
      }
    } catch {
      guard error.errno == ENOENT || error.errno == ENOTDIR else { throw error }
      return nil
    }
  }
}
