/// Bech32 of BIP 173, without its limit of 90 characters: the text form of recipients and identities.
enum Bech32 {
  private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
  private static let checkLength = 6

  /// - Parameter prefix: in lower case.
  static func encode(_ bytes: some Collection<UInt8>, prefix: String) -> [UInt8] {
    var groups = regroup(bytes, from: 8, to: 5, pads: true) ?? []
    let expanded = expand(Array(prefix.utf8)) + groups
    let check = polynomial(of: expanded + [UInt8](repeating: 0, count: checkLength)) ^ 1
    for index in 0..<checkLength {
      groups.append(UInt8(truncatingIfNeeded: check >> UInt32(5 * (checkLength - 1 - index)) & 31))
    }
    defer { groups.cleanse() }
    return Array(prefix.utf8) + [UInt8(ascii: "1")] + groups.map { alphabet[Int($0)] }
  }

  /// - Parameters:
  ///   - text: in lower or upper case.
  ///   - prefix: in lower case.
  /// - Returns: nil for another prefix, a wrong checksum, or mixed case.
  static func decode(_ text: some Collection<UInt8>, prefix: String) -> [UInt8]? {
    let capitals = text.contains { (0x41...0x5A).contains($0) }
    guard !capitals || !text.contains(where: { (0x61...0x7A).contains($0) }) else { return nil }
    var small = text.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    defer { small.cleanse() }
    guard let separator = small.lastIndex(of: UInt8(ascii: "1")),
      small[..<separator].elementsEqual(prefix.utf8), small.count - separator > checkLength
    else { return nil }
    var groups = [UInt8]()
    groups.reserveCapacity(small.count)
    defer { groups.cleanse() }
    for character in small[(separator + 1)...] {
      guard let value = alphabet.firstIndex(of: character) else { return nil }
      groups.append(UInt8(value))
    }
    guard polynomial(of: expand(Array(prefix.utf8)) + groups) == 1 else { return nil }
    return regroup(groups.dropLast(checkLength), from: 5, to: 8, pads: false)
  }

  private static func expand(_ prefix: [UInt8]) -> [UInt8] {
    prefix.map { $0 >> 5 } + [0] + prefix.map { $0 & 31 }
  }

  private static func polynomial(of values: [UInt8]) -> UInt32 {
    let generator: [UInt32] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3]
    var check: UInt32 = 1
    for value in values {
      let top = check >> 25
      check = (check & 0x01ff_ffff) << 5 ^ UInt32(value)
      for bit in 0..<5 where top >> UInt32(bit) & 1 == 1 { check ^= generator[bit] }
    }
    return check
  }

  private static func regroup(
    _ values: some Collection<UInt8>, from: Int, to: Int, pads: Bool
  ) -> [UInt8]? {
    var result = [UInt8]()
    result.reserveCapacity(values.count * from / to + 1)
    var bits: UInt32 = 0
    var count = 0
    let mask = UInt32(1) << UInt32(to) - 1
    for value in values {
      bits = (bits << UInt32(from) | UInt32(value)) & 0xFFFF
      count += from
      while count >= to {
        count -= to
        result.append(UInt8(bits >> UInt32(count) & mask))
      }
    }
    if pads {
      if count > 0 { result.append(UInt8(bits << UInt32(to - count) & mask)) }
    } else if count >= from || bits & (UInt32(1) << UInt32(count) - 1) != 0 {
      return nil
    }
    return result
  }
}
