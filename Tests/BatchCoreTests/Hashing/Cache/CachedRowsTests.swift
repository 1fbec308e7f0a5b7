import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite struct CachedRowsTests {
  private func value(_ number: UInt64) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 48) { room, count in
      for index in 0..<48 { room[index] = UInt8(truncatingIfNeeded: number &* 31 &+ UInt64(index)) }
      // Makes the sizes non-negative and the nanoseconds less than a second.
      for index in [7, 27, 31] { room[index] &= 0x1f }
      count = 48
    }
  }

  @Test("each row is found by its inode, and no row by another one", arguments: [0, 1, 7, 8, 5000])
  func rows(count: Int) throws {
    var numbers = SeededNumbers(seed: 3)
    // Inodes are consecutive on some file systems and hashes on others.
    let inodes = (0..<count).map { $0 % 2 == 0 ? Int64($0) : Int64(bitPattern: numbers.next()) }.sorted()
    var rest = inodes[...]
    let rows = try #require(
      CachedRows(.xxh128) { take in
        guard let inode = rest.popFirst() else { return false }
        value(UInt64(bitPattern: inode)).withUnsafeBytes { take(inode, $0) }
        return true
      })
    var position = -1
    for inode in inodes + inodes.reversed() + inodes.shuffled(using: &numbers) {
      let expected = value(UInt64(bitPattern: inode)).withUnsafeBytes { CachedDigest($0, .xxh128) }
      let found = rows.value(of: inode, near: &position)
      #expect(found?.digest == expected?.digest && found?.size == expected?.size)
    }
    for _ in 0..<100 {
      let other = Int64(bitPattern: numbers.next())
      #expect(inodes.contains(other) || rows.value(of: other, near: &position) == nil)
    }
  }

  @Test("a value of another size is not a row")
  func otherSize() throws {
    var rest = [Int64(1), 2][...]
    let rows = try #require(
      CachedRows(.xxh128) { take in
        guard let inode = rest.popFirst() else { return false }
        (value(1) + (inode == 1 ? [0] : [])).withUnsafeBytes { take(inode, $0) }
        return true
      })
    var position = -1
    #expect(rows.value(of: 1, near: &position) == nil && rows.value(of: 2, near: &position) != nil)
  }

  @Test("no more rows than the limit are held, and none after it are read", arguments: [0, 1])
  func limit(more: Int) {
    var inode: Int64 = 0
    let bytes = value(1)
    let rows = CachedRows(.xxh128) { take in
      guard inode < Int64(CachedRows.most + more) else { return false }
      inode += 1
      bytes.withUnsafeBytes { take(inode, $0) }
      return true
    }
    #expect((rows == nil) == (more > 0))
    #expect(inode == Int64(CachedRows.most + more))
  }
}
