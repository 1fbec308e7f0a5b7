/// The field with 65,536 elements and the polynomial 0x1100B, in which PAR2 computes.
package struct GaloisField: Sendable {
  package static let shared = GaloisField()

  static let polynomial = 0x1100B
  /// The number of elements but zero, which is the order of the element 2.
  static let order = 65_535

  /// Powers of 2, twice in a row, so that the sum of two logarithms is an index.
  private let powers: [UInt16]
  /// Logarithms to the base 2; that of zero is not used.
  private let logarithms: [UInt16]

  private init() {
    var powers = [UInt16](repeating: 0, count: 2 * Self.order)
    var logarithms = [UInt16](repeating: 0, count: Self.order + 1)
    var power = 1
    for exponent in 0..<Self.order {
      powers[exponent] = UInt16(truncatingIfNeeded: power)
      powers[exponent + Self.order] = UInt16(truncatingIfNeeded: power)
      logarithms[power] = UInt16(truncatingIfNeeded: exponent)
      power <<= 1
      if power > Self.order { power ^= Self.polynomial }
    }
    (self.powers, self.logarithms) = (powers, logarithms)
  }

  package func product(_ left: UInt16, _ right: UInt16) -> UInt16 {
    guard left != 0, right != 0 else { return 0 }
    return powers[Int(logarithms[Int(left)]) + Int(logarithms[Int(right)])]
  }

  /// - Parameter element: not zero.
  func inverse(_ element: UInt16) -> UInt16 { powers[Self.order - Int(logarithms[Int(element)])] }

  /// A power of 2 to the product of two exponents.
  func power(_ logarithm: UInt16, _ exponent: UInt16) -> UInt16 {
    powers[Int(logarithm) * Int(exponent) % Self.order]
  }

  /// The logarithms of the constants of input blocks: the numbers that have no divisor in common with the order, in their order.
  ///
  /// - Parameter count: at most 32,768, the number of such constants.
  static func constants(_ count: Int) -> [UInt16] {
    var logarithms: [UInt16] = []
    logarithms.reserveCapacity(count)
    for candidate in 1..<UInt16(order) where logarithms.count < count {
      if candidate % 3 != 0, candidate % 5 != 0, candidate % 17 != 0, candidate % 257 != 0 {
        logarithms.append(candidate)
      }
    }
    return logarithms
  }
}
