import BatchEngine

/// Adds products of regions, on one lane: by libgf-complete, or by tables of one factor without it.
///
/// The library is faster if the two bytes of elements are apart. So both regions are arranged first, and sums are restored at the end.
final class RegionProduct {
  /// Regions begin at a multiple of this, and have a multiple of it as their size.
  static let alignment = 64

  private let field: GaloisLibrary.Field?
  /// The products of the low and of the high byte of an element with the factor.
  private var low = [UInt16](repeating: 0, count: 256)
  private var high = [UInt16](repeating: 0, count: 256)

  /// - Parameter library: nil for the tables.
  /// - Throws: `exhausted` without memory for the tables of the library.
  init(by library: GaloisLibrary? = try? GaloisLibrary.shared.result().get()) throws(BatchError) {
    field = try library?.field()
  }

  /// Arranges elements for ``add(_:times:to:count:)``. Regions of zeros are arranged already.
  func arrange(_ region: UnsafeMutableRawPointer, count: Int) { field?.arrange(region, count: count) }

  /// Gives the elements of a sum their order.
  func restore(_ region: UnsafeMutableRawPointer, count: Int) { field?.restore(region, count: count) }

  /// An element of an arranged region.
  func element(_ index: Int, of region: UnsafeMutableRawPointer) -> UInt16 {
    guard field != nil else { return region.load(fromByteOffset: 2 * index, as: UInt16.self) }
    let high = index / 16 * 32 + index % 16
    return UInt16(region.load(fromByteOffset: high, as: UInt8.self)) << 8
      | UInt16(region.load(fromByteOffset: high + 16, as: UInt8.self))
  }

  /// Sets an element of an arranged region.
  func set(_ element: UInt16, _ index: Int, of region: UnsafeMutableRawPointer) {
    guard field != nil else {
      return region.storeBytes(of: element, toByteOffset: 2 * index, as: UInt16.self)
    }
    let high = index / 16 * 32 + index % 16
    region.storeBytes(of: UInt8(truncatingIfNeeded: element >> 8), toByteOffset: high, as: UInt8.self)
    region.storeBytes(of: UInt8(truncatingIfNeeded: element), toByteOffset: high + 16, as: UInt8.self)
  }

  /// - Parameters:
  ///   - source: arranged, as `target`, which it does not overlap.
  ///   - count: bytes, below 2 GiB.
  func add(
    _ source: UnsafeRawPointer, times factor: UInt16, to target: UnsafeMutableRawPointer, count: Int
  ) {
    guard factor != 0 else { return }
    if let field {
      field.add(source, times: factor, to: target, count: count)
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
