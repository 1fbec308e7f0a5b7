import Glibc

extension [UInt8] {
  /// The same as `==`, which goes byte by byte where nothing is optimised.
  package func equals(_ other: [UInt8]) -> Bool {
    count == other.count && memcmp(self, other, count) == 0
  }
}
