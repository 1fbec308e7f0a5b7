import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct DigestAlgorithmTests {
  @Test(
    arguments: [
      ("sha256", .sha256), ("SHA256", .sha256), ("SHA2-256", .sha256), ("Sha3-512", .sha3Bits512),
      ("BLAKE2b", .blake2b), ("blake2b-512", .blake2b), ("XXH3", .xxh3), ("xxh128", .xxh128),
      ("CRC32", .crc32), ("BLAKE3", .blake3),
      ("Md5", .md5), ("sha-1", nil), ("", nil), ("sha", nil),
    ] as [(String, DigestAlgorithm?)])
  func recognizesTheNamesThatUsersType(name: String, algorithm: DigestAlgorithm?) {
    #expect(DigestAlgorithm(name: name) == algorithm)
  }

  @Test(
    arguments: [
      (8, [.crc32]), (16, [.xxh3]), (32, [.md5, .xxh128]), (40, [.sha1]), (56, [.sha224]),
      (64, [.sha256, .blake3, .sha3Bits256]), (96, [.sha384]), (128, [.sha512, .blake2b, .sha3Bits512]),
      (0, []),
      (62, []),
    ] as [(Int, [DigestAlgorithm])])
  func saysWhichAlgorithmsHaveALength(length: Int, algorithms: [DigestAlgorithm]) {
    #expect(DigestAlgorithm.candidates(hexLength: length) == algorithms)
  }

  @Test(arguments: DigestAlgorithm.allCases)
  func findsEachAlgorithmByItsNames(algorithm: DigestAlgorithm) {
    #expect(DigestAlgorithm(name: algorithm.rawValue.uppercased()) == algorithm)
    #expect(DigestAlgorithm(tag: Array(algorithm.bsdTag.utf8)[...]) == algorithm)
    #expect(DigestAlgorithm.candidates(hexLength: algorithm.byteCount * 2).contains(algorithm))
    if let keyword = algorithm.mtreeKeyword {
      #expect(DigestAlgorithm(mtreeKeyword: Array(keyword.utf8)[...]) == algorithm)
      #expect(DigestAlgorithm(mtreeKeyword: Array(algorithm.rawValue.utf8)[...]) == algorithm)
    }
  }
}
