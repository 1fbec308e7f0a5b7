extension BatchError {
  /// The error of a file that is not read because it has too many bytes of holes.
  static func tooManyHoles(_ limit: UInt64) -> BatchError {
    BatchError(.unreadable, "has more than \(text(limit)) of holes, and is not read", remedy: .allowHoles)
  }

  private static func text(_ byteCount: UInt64) -> String {
    for (shift, unit) in [(60, "EiB"), (50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
      let size = UInt64(1) << UInt64(shift)
      if byteCount >= size, byteCount % size == 0 { return "\(byteCount / size) \(unit)" }
    }
    return "\(byteCount) bytes"
  }
}
