/// Adds products of regions, on one lane: by libgf-complete, or by tables of one factor without it.
final class RegionProduct {
  private let field: GaloisLibrary.Field?
  /// The products of the low and of the high byte of an element with the factor.
  private var low = [UInt16](repeating: 0, count: 256)
  private var high = [UInt16](repeating: 0, count: 256)

  /// - Parameter library: nil for the tables.
  init(by library: GaloisLibrary? = try? GaloisLibrary.shared.result().get()) { field = library?.field() }

  /// - Parameters:
  ///   - target: has the same remainder by 16 as `source`, and does not overlap it.
  ///   - count: an even number of bytes.
  func add(
    _ source: UnsafeRawPointer, times factor: UInt16, to target: UnsafeMutableRawPointer, count: Int
  ) {
    guard factor != 0 else { return }
    if let field, let short = Int32(exactly: count) {
      field.add(source, times: factor, to: target, count: short)
    } else {
      addByTables(source, times: factor, to: target, count: count)
    }
  }

  private func addByTables(
    _ source: UnsafeRawPointer, times factor: UInt16, to target: UnsafeMutableRawPointer, count: Int
  ) {
    Self.fill(&low, with: factor)
    Self.fill(&high, with: GaloisField.shared.product(factor, 0x100))
    low.withUnsafeBufferPointer { low in
      high.withUnsafeBufferPointer { high in
        for offset in Swift.stride(from: 0, to: count - 1, by: 2) {
          let element = Int(UInt16(littleEndian: source.load(fromByteOffset: offset, as: UInt16.self)))
          let product = low[element & 0xFF] ^ high[element >> 8]
          let sum = product.littleEndian ^ target.load(fromByteOffset: offset, as: UInt16.self)
          target.storeBytes(of: sum, toByteOffset: offset, as: UInt16.self)
        }
      }
    }
  }

  /// The products of all bytes: those of single bits, and their sums.
  private static func fill(_ table: inout [UInt16], with factor: UInt16) {
    table[0] = 0
    for bit in 0..<8 {
      let product = GaloisField.shared.product(factor, 1 << UInt16(bit))
      for index in 0..<(1 << bit) { table[(1 << bit) + index] = table[index] ^ product }
    }
  }
}
