import Glibc

extension AtomicFile {
  /// What a finished file is given besides its content.
  public struct Metadata: Sendable, Hashable {
    /// The permission bits; setuid, setgid and sticky are never set.
    public var permissions: UInt32
    /// User and group, as `chown(2)` takes them; nil keeps those of the process.
    public var owner: Owner?
    /// Access and modification time; nil leaves them as they are.
    public var times: Times?

    public struct Owner: Sendable, Hashable {
      public let user: UInt32
      public let group: UInt32

      public init(user: UInt32, group: UInt32) {
        self.user = user
        self.group = group
      }

      /// For a process that may not give files away: it keeps them, and may give them to a group of its own.
      public init(group: UInt32) {
        self.init(user: .max, group: group)
      }

      var isGroupOnly: Bool { user == .max }

      func isThat(of file: FileStatus?) -> Bool {
        guard let file else { return false }
        return group == file.group && (isGroupOnly || user == file.owner)
      }
    }

    public struct Times: Sendable, Hashable {
      public let accessed: FileStatus.Time
      public let modified: FileStatus.Time

      public init(accessed: FileStatus.Time, modified: FileStatus.Time) {
        self.accessed = accessed
        self.modified = modified
      }
    }

    public init(permissions: UInt32 = AtomicFile.defaultPermissions, owner: Owner? = nil, times: Times? = nil)
    {
      self.permissions = permissions
      self.owner = owner
      self.times = times
    }
  }

  /// What a new file gets: 0666 without the bits of the umask that the process was started with.
  ///
  /// Read from /proc once: `umask(2)` could only be read by setting it, which other threads would
  /// notice. 0600 where the kernel does not tell.
  public static let defaultPermissions: UInt32 = {
    guard let status = try? SmallFile.read("/proc/self/status") else { return 0o600 }
    return permissions(processStatus: status)
  }()

  static func permissions(processStatus: [UInt8]) -> UInt32 {
    for line in processStatus.split(separator: UInt8(ascii: "\n")) where line.starts(with: "Umask:".utf8) {
      let digits = line.drop { !(UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }
      guard let umask = UInt32(String(decoding: digits, as: UTF8.self), radix: 8) else { break }
      return 0o666 & ~umask
    }
    return 0o600
  }
}

extension AtomicFile.Metadata {
  /// Sets all of it on an open file: first the owner, because changing that clears bits of the mode.
  ///
  /// When the owner may not be changed, group and others lose their permissions, so that nobody gains
  /// what the intended owner would have held back; when only the group was to be changed, it keeps those that
  /// all have. File systems without modes or times are accepted.
  ///
  /// - Parameters:
  ///   - given: what the file has already, where that is known; it is not set again.
  ///   - isMarked: whether attributes were set since, which may have changed the mode.
  /// - Returns: 0, or the error number of the call that failed.
  func apply(to descriptor: Int32, having given: FileStatus? = nil, isMarked: Bool = false) -> Int32 {
    var permissions = self.permissions & 0o777
    if let owner, !owner.isThat(of: given), fchown(descriptor, owner.user, owner.group) != 0 {
      guard Self.isRefusal(errno) else { return errno }
      permissions &= owner.isGroupOnly ? 0o707 | (permissions & 0o7) << 3 : 0o700
    }
    let hasPermissions = !isMarked && given.map { $0.mode & 0o7777 } == permissions
    if !hasPermissions, fchmod(descriptor, permissions) != 0, !Self.isRefusal(errno) { return errno }
    if let times {
      let values = [times.accessed, times.modified].map {
        timespec(tv_sec: Int($0.seconds), tv_nsec: Int($0.nanoseconds))
      }
      if futimens(descriptor, values) != 0, !Self.isRefusal(errno) { return errno }
    }
    return 0
  }

  private static func isRefusal(_ number: Int32) -> Bool {
    [EPERM, ENOTSUP, ENOSYS, EINVAL].contains(number)
  }
}
