import BatchEngine

/// All rows of one table of the cache, for runs that ask for many of them: a question to the library takes some
/// microseconds, and going over all rows in their order less than one for each.
final class CachedRows: Sendable {
  /// Rows of more than some 20 MB are asked for one by one.
  static let most = 1 << 18
  private let algorithm: DigestAlgorithm
  /// In ascending order.
  private let inodes: [Int64]
  /// One behind the other.
  private let values: [UInt8]

  /// Nil where there are more than ``most``.
  ///
  /// - Parameters:
  ///   - next: the next row in the order of the inodes, whose value it lends; false behind the last one.
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
    self.inodes = inodes
    self.values = values
  }

  /// - Parameter position: where the row of the file before was found. The files of a folder were mostly made one after the
  ///   other, and have inodes that follow each other.
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
