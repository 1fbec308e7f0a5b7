import Glibc

/// The data ranges of a file with holes, as `lseek(2)` reports them.
package enum DataMap {
  /// After this many data ranges, further holes of a file are read as if they were data.
  private static let mostRanges = 1 << 16

  /// - Returns: sorted, separated ranges; nil if there are no holes or the file system does not report them.
  package static func read(_ descriptor: Int32, size: UInt64) -> [Range<UInt64>]? {
    var ranges = [Range<UInt64>]()
    var position: UInt64 = 0
    var covered: UInt64 = 0
    while position < size {
      guard var data = next(descriptor, in: position..<size) else { return nil }
      if data.isEmpty { break }
      if ranges.count == mostRanges - 1 { data = data.lowerBound..<size }
      ranges.append(data)
      covered += data.upperBound - data.lowerBound
      position = data.upperBound
    }
    return covered == size ? nil : ranges
  }

  /// The first data in a range; moves the offset of the descriptor.
  ///
  /// - Parameter range: within the size of the file.
  /// - Returns: an empty range at the end if there is no data; nil if the file system does not report data.
  package static func next(_ descriptor: Int32, in range: Range<UInt64>) -> Range<UInt64>? {
    guard let first = off_t(exactly: range.lowerBound), let end = off_t(exactly: range.upperBound) else {
      return nil
    }
    let none = range.upperBound..<range.upperBound
    let start = lseek(descriptor, first, seekData)
    // ENXIO: no data up to the end of the file.
    guard start >= 0 else { return errno == ENXIO ? none : nil }
    guard start >= first else { return nil }
    guard start < end else { return none }
    let hole = lseek(descriptor, start, seekHole)
    guard hole > start else { return nil }
    return UInt64(start)..<UInt64(min(hole, end))
  }

  /// Whether a file has more bytes of holes than a limit.
  ///
  /// Searches for data ranges only if the allocated size is smaller than the size by more than the limit.
  package static func hasHoles(_ descriptor: Int32, _ status: FileStatus, above limit: UInt64) -> Bool {
    guard status.unallocated > limit else { return false }
    let size = UInt64(clamping: status.size)
    var holes: UInt64 = 0
    var position: UInt64 = 0
    while position < size, holes <= limit {
      // A compressed file takes less space than its size, too.
      guard let data = next(descriptor, in: position..<size) else { return false }
      holes += data.lowerBound - position
      position = data.isEmpty ? size : data.upperBound
    }
    return holes > limit
  }

  // Defined as macros under _GNU_SOURCE, which Swift does not import.
  private static let seekData: Int32 = 3
  private static let seekHole: Int32 = 4
}

extension FileStatus {
  /// Bytes of the size that take no space on the device: holes, or what compression saves.
  package var unallocated: UInt64 {
    UInt64(clamping: size) - min(UInt64(clamping: size), UInt64(clamping: allocated))
  }
}
