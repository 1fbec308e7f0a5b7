@testable import BatchCore
@testable import BatchEngine

/// Rows of the digest cache: an accepted row must be written as the same bytes.
func fuzzCacheRows(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let all = DigestAlgorithm.allCases
  let algorithm = all[Int(start[0]) % all.count]
  let input = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  if let row = CachedDigest(input, algorithm) {
    precondition(row.bytes.elementsEqual(input), "two forms of one row")
  }
  // A table in which an inode of eight bytes precedes each row.
  let size = 8 + CachedDigest.size(of: algorithm)
  var position = 0
  var inodes: [Int64] = []
  let rows = CachedRows(algorithm) { (take: (Int64, UnsafeRawBufferPointer) -> Void) in
    guard position + size <= input.count else { return false }
    let inode = input.loadUnaligned(fromByteOffset: position, as: Int64.self)
    if inodes.last.map({ $0 < inode }) ?? true {
      inodes.append(inode)
      take(inode, UnsafeRawBufferPointer(rebasing: input[(position + 8)..<(position + size)]))
    }
    position += size
    return true
  }
  var near = -1
  for inode in inodes { _ = rows?.value(of: inode, near: &near) }
  _ = rows?.value(of: .max, near: &near)
}
