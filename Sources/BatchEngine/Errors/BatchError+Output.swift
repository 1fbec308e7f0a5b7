import Glibc

extension BatchError {
  /// Whether the place of an output takes none: its file system is read-only, or the permission is missing.
  public var isOfTarget: Bool {
    code == .unwritable && [EROFS, EACCES, EPERM].contains(errno)
  }

  /// Whether the file system of an output, or the share of its owner, is full.
  public var isOutOfSpace: Bool {
    code == .unwritable && [ENOSPC, EDQUOT].contains(errno)
  }

  /// Whether the error leaves an output without its bytes: no space, or a device that fails. A place without write permission
  /// is not included: no output was begun there.
  public var isOfOutput: Bool {
    [ENOSPC, EDQUOT, EIO, EFBIG].contains(errno)
  }
}
