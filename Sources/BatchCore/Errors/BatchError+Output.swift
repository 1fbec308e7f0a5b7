import Glibc

extension BatchError {
  /// Whether the error leaves an output without its bytes: no space, or a device that fails. A place that
  /// may not be written to is none: nothing has begun there.
  public var isOfOutput: Bool {
    [ENOSPC, EDQUOT, EIO, EFBIG].contains(errno)
  }
}
