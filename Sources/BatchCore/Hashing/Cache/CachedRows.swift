import BatchEngine

/// All rows of one cache table, for runs that need many of them: a single query takes some microseconds, but reading all rows
/// in order takes less than one for each.
final class CachedRows: Sendable {
  /// The most rows that are loaded, about 20 MB. In larger tables rows are looked up one by one.
  static let most = 1 << 18
  private let algorithm: DigestAlgorithm
  /// The inode numbers in ascending order.
  private let inodes: [Int64]
  /// The values, concatenated.
  private let values: [UInt8]

  /// Nil if there are more than ``most``.
  ///
  /// - Parameter next: passes on the next row in the order of the inodes; returns false after the last one.
  init?<Failure: Error>(
    _ algorithm: DigestAlgorithm,
    next: (_ row: (Int64, UnsafeRawBufferPointer) -> Void) throws(Failure) -> Bool
  ) throws(Failure) {
    self.algorithm = algorithm
    let size = CachedDigest.size(of: algorithm)
    var inodes = [Int64]()
    var values = [UInt8]()
    while try next({ inode, value in
      // A value with another size was never written here.
      guard value.count == size else { return }
      inodes.append(inode)
      values.append(contentsOf: value)
    }) {
      // Counted while reading: SQLite would read the whole table to count its rows.
      guard inodes.count <= Self.most else { return nil }
    }
    self.inodes = inodes
    self.values = values
  }

  /// - Parameter position: the position of the previous file's row. Files of a folder were usually created one after the other
  ///   and have consecutive inodes.
  func value(of inode: Int64, near position: inout Int) -> CachedDigest? {
    let next = position + 1
    let index = next < inodes.count && inodes[next] == inode ? next : index(of: inode)
    guard let index else { return nil }
    position = index
    let size = CachedDigest.size(of: algorithm)
    return values.withUnsafeBytes {
      CachedDigest(UnsafeRawBufferPointer(rebasing: $0[(index * size)..<((index + 1) * size)]), algorithm)
    }
  }

  private func index(of inode: Int64) -> Int? {
    var (low, high) = (0, inodes.count)
    while low < high {
      let middle = (low + high) / 2
      if inodes[middle] < inode { low = middle + 1 } else { high = middle }
    }
    return low < inodes.count && inodes[low] == inode ? low : nil
  }
}
