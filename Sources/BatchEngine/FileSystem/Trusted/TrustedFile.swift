import Glibc

/// Files that control a program. They are read only if no other user can have written them.
package struct TrustedFile {
  /// The effective user of the process.
  let user: UInt32
  package let calls: any FileSystemCalls

  package init(user: UInt32 = geteuid(), calls: any FileSystemCalls) {
    self.user = user
    self.calls = calls
  }

  /// Reads a file of at most 1 MiB; nil if it does not exist.
  ///
  /// - Parameter isPersonal: whether a folder without search permission counts as empty: after a change of users it belongs to
  ///   another user.
  /// - Throws: the error of a system call; `.malformed` for anything but a regular file, and for one that is too large;
  ///   `.unreadable` for a file that others can write or replace.
  package func read(_ path: PathBytes, isPersonal: Bool) throws(BatchError) -> [UInt8]? {
    let opened = path.withCString { calls.open($0, at: AT_FDCWD, flags: O_RDONLY | O_NOCTTY | O_NONBLOCK) }
    if opened == -ENOENT || opened == -ENOTDIR || (opened == -EACCES && isPersonal) { return nil }
    guard opened >= 0 else { throw .syscall("open", errno: -opened, path: path) }
    let file = Descriptor(owning: opened)
    let status: FileStatus
    do { status = try calls.status(of: file) } catch { throw error.at(path) }
    guard status.kind == .regular else { throw BatchError(.malformed, "is not a regular file", path: path) }
    if let reason = distrust(of: status) {
      throw Self.refusal(reason, path)
    }
    for folder in [path.parent, try target(of: path).parent] {
      if let reason = distrust(of: try self.status(of: folder, followingLinks: true)) {
        throw Self.refusal(reason, folder)
      }
    }
    do { return try content(of: file) } catch { throw error.at(path) }
  }

  /// Why another user may have written a file or folder; nil if only this user or root can write it.
  func distrust(of status: FileStatus) -> String? {
    if !isTrusted(owner: status.owner) { return "it belongs to another user" }
    return status.mode & (S_IWGRP | S_IWOTH) == 0 ? nil : "other users may write to it"
  }

  func isTrusted(owner: UInt32) -> Bool { owner == 0 || owner == user }

  /// Whether a file belongs to the user of the process.
  package func isOwn(_ status: FileStatus) -> Bool { status.owner == user }

  func status(of path: PathBytes, followingLinks: Bool = false) throws(BatchError) -> FileStatus {
    do throws(BatchError) {
      return try calls.status(of: path, followingLinks: followingLinks)
    } catch {
      throw .syscall("read the status", errno: error.errno, path: path)
    }
  }

  static func refusal(_ reason: String, _ path: PathBytes) -> BatchError {
    BatchError(.unreadable, "is refused, since \(reason)", path: path)
  }

  /// The path with all links resolved.
  private func target(of path: PathBytes) throws(BatchError) -> PathBytes {
    do throws(BatchError) {
      return try path.resolved()
    } catch {
      throw .syscall("resolve", errno: error.errno, path: path)
    }
  }

  private static let limit = 1 << 20

  private func content(of file: borrowing Descriptor) throws(BatchError) -> [UInt8] {
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = chunk.withUnsafeMutableBytes { calls.read(file.raw, into: $0) }
      guard count >= 0 else { throw .syscall("read", errno: Int32(clamping: -count)) }
      if count == 0 { return content }
      content += chunk[..<count]
      guard content.count <= Self.limit else {
        throw BatchError(.malformed, "is larger than \(Self.limit) bytes")
      }
    }
  }
}
