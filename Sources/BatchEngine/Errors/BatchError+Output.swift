import Glibc

extension BatchError {
  /// Whether no output can be created at the target: its file system is read-only, or the permission is missing.
  public var isOfTarget: Bool {
    code == .unwritable && [EROFS, EACCES, EPERM].contains(errno)
  }

  /// Whether the file system of an output, or the disk quota of its owner, is full.
  public var isOutOfSpace: Bool {
    code == .unwritable && [ENOSPC, EDQUOT].contains(errno)
  }

  /// Whether bytes of an output could not be stored: no space, or a failed device. Missing write permission is not included:
  /// then no output was begun.
  public var isOfOutput: Bool {
    [ENOSPC, EDQUOT, EIO, EFBIG].contains(errno)
  }
}
