import BatchEngine

/// All rows of one table of the cache, for runs that ask for many of them: a question to the library takes some
/// microseconds, and going over all rows in their order less than one for each.
final class CachedRows: Sendable {
  /// Rows of more than some 20 MB are asked for one by one.
  static let most = 1 << 18
  /// What a slot holds that no row has taken.
  private static let free = UInt32.max

  private let algorithm: DigestAlgorithm
  private let inodes: [Int64]
  /// One behind the other.
  private let values: [UInt8]
  /// Numbers of rows, by the hash of the inode; twice as many as rows or more, a power of two.
  private let slots: [UInt32]

  /// Nil where there are more than ``most``.
  ///
  /// - Parameters:
  ///   - next: the next row, whose value it lends; false behind the last one.
  init?<Failure: Error>(
    _ algorithm: DigestAlgorithm,
    next: (_ row: (Int64, UnsafeRawBufferPointer) -> Void) throws(Failure) -> Bool
  ) throws(Failure) {
    self.algorithm = algorithm
    let size = CachedDigest.size(of: algorithm)
    var inodes = [Int64]()
    var values = [UInt8]()
    while try next({ inode, value in
      // What has another size was never written here.
      guard value.count == size else { return }
      inodes.append(inode)
      values.append(contentsOf: value)
    }) {
      // They are counted as they come: for their number the library reads the whole table.
      guard inodes.count <= Self.most else { return nil }
    }
    var slotCount = 16
    while slotCount < inodes.count * 2 { slotCount *= 2 }
    var slots = [UInt32](repeating: Self.free, count: slotCount)
    for (number, inode) in inodes.enumerated() {
      var slot = Self.slot(of: inode, slotCount)
      while slots[slot] != Self.free { slot = (slot + 1) & (slotCount - 1) }
      slots[slot] = UInt32(truncatingIfNeeded: number)
    }
    self.inodes = inodes
    self.values = values
    self.slots = slots
  }

  subscript(inode: Int64) -> CachedDigest? {
    var slot = Self.slot(of: inode, slots.count)
    while slots[slot] != Self.free {
      let number = Int(slots[slot])
      if inodes[number] == inode {
        let size = CachedDigest.size(of: algorithm)
        return values.withUnsafeBytes {
          CachedDigest(
            UnsafeRawBufferPointer(rebasing: $0[(number * size)..<((number + 1) * size)]), algorithm)
        }
      }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  private static func slot(of inode: Int64, _ count: Int) -> Int {
    Int(truncatingIfNeeded: (UInt64(bitPattern: inode) &* 0x9e37_79b9_7f4a_7c15) >> 32) & (count - 1)
  }
}
