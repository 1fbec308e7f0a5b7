/// The bytes that one position of a glob matches: a bracket expression such as `[a-z]`.
struct IgnorePatternByteSet: Sendable {
  /// One bit for each byte value, in four words of 64.
  private var bits = SIMD4<UInt64>.zero

  package func contains(_ byte: UInt8) -> Bool {
    bits[Int(byte >> 6)] & (1 << UInt64(byte & 63)) != 0
  }

  package mutating func insert(_ byte: UInt8) {
    bits[Int(byte >> 6)] |= 1 << UInt64(byte & 63)
  }

  package mutating func remove(_ byte: UInt8) {
    bits[Int(byte >> 6)] &= ~(1 << UInt64(byte & 63))
  }

  /// Adds a range; a reversed range is empty, as in fnmatch(3).
  package mutating func insert(from first: UInt8, through last: UInt8) {
    guard first <= last else { return }
    for byte in first...last { insert(byte) }
  }

  mutating func invert() {
    bits = ~bits
  }

  /// Adds the members of a class of the C locale, such as `alpha`.
  ///
  /// - Returns: false if POSIX has no class with that name.
  mutating func insertClass(_ name: ArraySlice<UInt8>) -> Bool {
    switch String(decoding: name, as: UTF8.self) {
    case "alnum": insertAll([(0x30, 0x39), (0x41, 0x5a), (0x61, 0x7a)])
    case "alpha": insertAll([(0x41, 0x5a), (0x61, 0x7a)])
    case "blank": insertAll([(0x09, 0x09), (0x20, 0x20)])
    case "cntrl": insertAll([(0x00, 0x1f), (0x7f, 0x7f)])
    case "digit": insertAll([(0x30, 0x39)])
    case "graph": insertAll([(0x21, 0x7e)])
    case "lower": insertAll([(0x61, 0x7a)])
    case "print": insertAll([(0x20, 0x7e)])
    case "punct": insertAll([(0x21, 0x2f), (0x3a, 0x40), (0x5b, 0x60), (0x7b, 0x7e)])
    case "space": insertAll([(0x09, 0x0d), (0x20, 0x20)])
    case "upper": insertAll([(0x41, 0x5a)])
    case "xdigit": insertAll([(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)])
    default: return false
    }
    return true
  }

  private mutating func insertAll(_ ranges: [(UInt8, UInt8)]) {
    for (first, last) in ranges { insert(from: first, through: last) }
  }
}
