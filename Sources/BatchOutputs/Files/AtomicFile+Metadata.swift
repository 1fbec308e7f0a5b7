import BatchEngine
import var Glibc.E2BIG
import var Glibc.EACCES
import var Glibc.EDQUOT
import var Glibc.EINVAL
import var Glibc.ENOSPC
import var Glibc.ENOSYS
import var Glibc.ENOTSUP
import var Glibc.EPERM

extension AtomicFile {
  package struct Metadata: Sendable, Hashable {
    /// The permission bits; setuid, setgid and sticky are never set.
    package var permissions: UInt32
    /// User and group for `chown(2)`; nil keeps those of the process.
    package var owner: Owner?
    /// Access and modification time; nil leaves them as they are.
    package var times: Times?
    /// Whether an access control list that was inherited from the folder is removed.
    package var removesForeignList = false
    /// The mark of an output; nil for any other file.
    package var mark: FileMark?

    package struct Owner: Sendable, Hashable {
      package let user: UInt32
      package let group: UInt32

      package init(user: UInt32, group: UInt32) {
        self.user = user
        self.group = group
      }

      /// For a process that may not change the user: it may change the group to one of its own.
      package init(group: UInt32) {
        self.init(user: .max, group: group)
      }

      package var isGroupOnly: Bool { user == .max }

      package func isThat(of file: FileStatus?) -> Bool {
        guard let file else { return false }
        return group == file.group && (isGroupOnly || user == file.owner)
      }
    }

    package struct Times: Sendable, Hashable {
      package let accessed: FileStatus.Time
      package let modified: FileStatus.Time

      package init(accessed: FileStatus.Time, modified: FileStatus.Time) {
        (self.accessed, self.modified) = (accessed, modified)
      }
    }

    package init(
      permissions: UInt32 = AtomicFile.defaultPermissions, owner: Owner? = nil, times: Times? = nil
    ) {
      self.permissions = permissions
      self.owner = owner
      self.times = times
    }
  }

  /// The umask of the process.
  ///
  /// Read from /proc once: `umask(2)` can only read it by changing it, which would affect other threads. 0077 if the kernel
  /// does not report it.
  private static let umask: UInt32 = {
    guard let status = try? KernelFile.read("/proc/self/status") else { return 0o077 }
    return umask(processStatus: status)
  }()

  /// The permissions of a new file: 0666 without the bits of the umask of the process.
  package static var defaultPermissions: UInt32 { 0o666 & ~umask }

  /// The permissions of a new folder under the umask.
  package static var folderPermissions: UInt32 { defaultPermissions | defaultPermissions >> 2 & 0o111 }

  /// Whether a folder can be created with these permissions under the umask, and its owner can create files in it.
  package static func creates(folderWith permissions: UInt32) -> Bool {
    permissions & (umask | 0o7000) == 0 && permissions & 0o700 == 0o700
  }

  package static func umask(processStatus: [UInt8]) -> UInt32 {
    for line in processStatus.split(separator: UInt8(ascii: "\n")) where line.starts(with: "Umask:".utf8) {
      let digits = line.drop { !(UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }
      guard let umask = UInt32(String(decoding: digits, as: UTF8.self), radix: 8) else { break }
      return umask
    }
    return 0o077
  }
}

extension AtomicFile.Metadata {
  /// Owner, mode and access control list of a file as it was created.
  package struct Given {
    /// Owner and mode, if known; equal values are not set again.
    package var status: FileStatus?
    /// Whether the file may have an inherited access control list that must be removed.
    package var mayHaveForeignList = false
  }

  /// Sets all metadata of an open file: first the owner, because changing it clears bits of the mode; then attributes, because
  /// the mode may prevent writing them; then the mode; then the times.
  ///
  /// When the owner may not be changed, group and others lose their permissions, so that no user gains access that the intended
  /// owner would not have given; if only the group could not be changed, group and others keep the permissions that both had:
  /// members of the intended group are now among the others. If a list cannot be set, rights that only some users had are
  /// removed. File systems without modes or times are accepted.
  ///
  /// - Parameter attributes: of a source; those that the target does not support, or that only root may set, are skipped, as
  ///   the stock tools do.
  /// - Returns: 0, or the error number of the call that failed; and whether an access control list was lost.
  package func apply(
    to descriptor: Int32, having given: Given = Given(), attributes: [ExtendedAttribute] = [],
    calls: any FileSystemCalls
  ) -> (failed: Int32, isListLost: Bool) {
    var permissions = self.permissions & 0o777
    // The rights that others may keep without the intended owner or group; nil if the file has both.
    var remaining: UInt32?
    if let owner, !owner.isThat(of: given.status) {
      let failed = -calls.setOwner(of: descriptor, user: owner.user, group: owner.group)
      guard failed == 0 || Self.isRefusal(failed) else { return (failed, false) }
      if failed != 0 { remaining = owner.isGroupOnly ? 7 : 0 }
    }
    if let mark {
      // A mode without write permission would prevent it later. An output without a mark is never replaced unasked.
      let failed = -calls.setAttribute(mark.name, of: descriptor, to: mark.value)
      guard failed == 0 || Self.isIgnored(failed) else { return (failed, false) }
    }
    var isListLost = false
    var hasList = false
    for attribute in attributes.listsLast {
      // A file capability belongs to the program, not to its compressed form; a mark belongs to one output.
      let failed =
        Self.unkept.contains(attribute.name)
        ? 0 : -calls.setAttribute(attribute.name, of: descriptor, to: attribute.value)
      guard failed == 0 || Self.isIgnored(failed) else { return (failed, false) }
      guard attribute.name == AccessList.accessName else { continue }
      hasList = failed == 0
      isListLost = failed != 0
      if isListLost { permissions = AccessList.permissions(permissions, without: attribute.value) }
      // The group bits are the mask of the list, and its group may have fewer rights.
      if hasList { remaining = remaining.map { $0 & AccessList.groupRights(of: attribute.value) } }
    }
    if let remaining {
      let common = permissions & permissions >> 3 & remaining
      permissions = permissions & 0o700 | common << 3 | common
    }
    var isMarked = !attributes.isEmpty
    if given.mayHaveForeignList, !hasList {
      let (isRemoved, failed) = AccessList.remove(AccessList.accessName, from: descriptor, calls)
      guard failed == 0 else { return (failed, isListLost) }
      isMarked = isMarked || isRemoved
    }
    let hasPermissions = !isMarked && given.status.map { $0.mode & 0o7777 } == permissions
    if !hasPermissions {
      let failed = -calls.setMode(of: descriptor, to: permissions)
      guard failed == 0 || Self.isRefusal(failed) else { return (failed, isListLost) }
    }
    if let times {
      let failed = -calls.setTimes(of: descriptor, accessed: times.accessed, modified: times.modified)
      guard failed == 0 || Self.isRefusal(failed) else { return (failed, isListLost) }
    }
    return (0, isListLost)
  }

  /// Whether the group bits allow something that others may not do; only then can a named entry of a list allow it.
  package var givesGroupMore: Bool { permissions >> 3 & 7 & ~permissions != 0 }

  private static let unkept =
    ["security.capability", "security.selinux"].map { Array($0.utf8) } + FileMark.names

  private static func isIgnored(_ number: Int32) -> Bool {
    [ENOTSUP, EPERM, EACCES, EINVAL, ENOSPC, EDQUOT, E2BIG].contains(number)
  }

  private static func isRefusal(_ number: Int32) -> Bool {
    [EPERM, ENOTSUP, ENOSYS, EINVAL].contains(number)
  }
}
