import Glibc

extension [UInt8] {
  /// The same as `==`, which is slow without optimization, since it then compares byte by byte.
  package func equals(_ other: [UInt8]) -> Bool {
    count == other.count && memcmp(self, other, count) == 0
  }

  /// Repeats the pattern, which is not empty, and cuts the last copy at `length` bytes.
  ///
  /// Whole patterns are copied, since a loop over bytes is slow without optimization.
  package init(repeating pattern: [UInt8], length: Int) {
    self = []
    reserveCapacity(length)
    while count < length { self += pattern.prefix(length - count) }
  }
}
