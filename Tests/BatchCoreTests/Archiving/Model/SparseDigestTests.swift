import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct SparseDigestTests {
  private func digest(_ data: [UInt8], map: [Range<UInt64>]?, size: UInt64, piece: Int) throws -> Digest? {
    let sparse = SparseDigest(try DigestStream(.sha256), map: map, size: size)
    for start in stride(from: 0, to: data.count, by: piece) {
      try withBytes(of: Array(data[start..<min(data.count, start + piece)])) { (raw) throws(BatchError) in
        try sparse.update(raw)
      }
    }
    return try sparse.finish()
  }

  private func plainDigest(_ bytes: [UInt8]) throws -> Digest {
    let stream = try DigestStream(.sha256)
    return try withBytes(of: bytes) { (raw) throws(BatchError) in try stream.digest(of: raw) }
  }

  @Test(arguments: [1, 7, 1000, 4096]) func isTheDigestOfTheFileWithItsHoles(piece: Int) throws {
    var file = [UInt8](repeating: 0, count: 10_000)
    let map: [Range<UInt64>] = [100..<1100, 5000..<5001, 9000..<9500]
    var data: [UInt8] = []
    for (index, range) in map.enumerated() {
      for offset in range {
        file[Int(offset)] = UInt8(truncatingIfNeeded: offset &* 7 &+ UInt64(index) | 1)
        data.append(file[Int(offset)])
      }
    }
    #expect(try digest(data, map: map, size: 10_000, piece: piece) == plainDigest(file))
    #expect(try digest(file, map: nil, size: 10_000, piece: piece) == plainDigest(file))
  }

  @Test func hasADigestForAFileOfOneHole() throws {
    let zeros = [UInt8](repeating: 0, count: 3_000_000)
    #expect(try digest([], map: [], size: 3_000_000, piece: 1) == plainDigest(zeros))
    #expect(try digest([], map: nil, size: 0, piece: 1) == plainDigest([]))
  }

  @Test func isLeftOutWhenHolesExceedTheLimit() throws {
    #expect(try digest([1], map: [0..<1], size: 1 << 40, piece: 1) == nil)
  }
}
