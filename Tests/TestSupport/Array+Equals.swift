import Glibc

extension [UInt8] {
  /// The same as `==`, which is slow without optimisation, since it then compares byte by byte.
  package func equals(_ other: [UInt8]) -> Bool {
    count == other.count && memcmp(self, other, count) == 0
  }
}
