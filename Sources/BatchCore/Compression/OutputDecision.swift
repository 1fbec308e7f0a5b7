import Glibc

/// Whether the output of a source is to be written, by what has its name already.
enum OutputDecision: Sendable, Hashable {
  /// There is none, or an older one that gives way.
  case write(isReplacing: Bool)
  /// It has the source's modification time.
  case upToDate
  case refused(BatchError)

  /// Looks at the name, and at nothing else.
  static func of(_ target: PathBytes, for source: FileRecord, force: Bool) -> OutputDecision {
    var raw = stat()
    let result = target.withCString { fstatat(AT_FDCWD, $0, &raw, AT_SYMLINK_NOFOLLOW) }
    guard result == 0 else {
      let number = errno
      if number == ENOENT || number == ENOTDIR { return .write(isReplacing: false) }
      return .refused(.syscall("look at the output", errno: number, path: target))
    }
    let output = FileStatus(raw)
    if output.identity == source.status.identity {
      return .refused(BatchError(.invalid, "is its own output", path: source.path))
    }
    if force { return .write(isReplacing: true) }
    guard output.kind == .regular else {
      return .refused(
        BatchError(.invalid, "is in the way of the output: it is \(output.kind.text)", path: target))
    }
    if output.modified == source.status.modified { return .upToDate }
    if output.modified.isBefore(source.status.modified) { return .write(isReplacing: true) }
    return .refused(
      BatchError(
        .invalid, "is newer than its source and stays", path: target, remedy: "--force replaces it"))
  }
}

extension FileStatus.Time {
  func isBefore(_ other: FileStatus.Time) -> Bool {
    (seconds, nanoseconds) < (other.seconds, other.nanoseconds)
  }
}
