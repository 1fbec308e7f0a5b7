import Glibc

/// Where a file with holes has data, as `lseek(2)` tells it.
package enum DataMap {
  /// A file in more pieces than these is read as if its further holes were data.
  private static let mostRanges = 1 << 16

  /// - Returns: ranges in order, that do not touch; nil when there are no holes, or nothing tells.
  package static func read(_ descriptor: Int32, size: UInt64) -> [Range<UInt64>]? {
    guard let end = off_t(exactly: size) else { return nil }
    var ranges = [Range<UInt64>]()
    var position: off_t = 0
    var covered: UInt64 = 0
    while position < end {
      let start = lseek(descriptor, position, seekData)
      if start < 0 {
        // No data from here to the end of the file.
        guard errno == ENXIO else { return nil }
        break
      }
      guard start < end else { break }
      guard ranges.count < mostRanges - 1 else {
        ranges.append(UInt64(start)..<size)
        covered += UInt64(end - start)
        break
      }
      let hole = lseek(descriptor, start, seekHole)
      guard hole > start else { return nil }
      let stop = min(hole, end)
      ranges.append(UInt64(start)..<UInt64(stop))
      covered += UInt64(stop - start)
      position = stop
    }
    return covered == size ? nil : ranges
  }

  // Macros behind _GNU_SOURCE.
  private static let seekData: Int32 = 3
  private static let seekHole: Int32 = 4
}
