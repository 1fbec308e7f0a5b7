import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct DigestTests {
  @Test func readsHexadecimalTextInEitherCase() throws {
    let digest = try #require(Digest(.crc32, hex: Array("00fFA9e1".utf8)[...]))
    #expect(digest.bytes == [0x00, 0xff, 0xa9, 0xe1])
    #expect(digest.hex == "00ffa9e1")
    var line = Array("x".utf8)
    digest.appendHex(to: &line)
    #expect(line == Array("x00ffa9e1".utf8))
  }

  @Test(arguments: ["", "00ffa9e", "00ffa9e1a", "00ffa9eg", " 0ffa9e1", "+0ffa9e1"])
  func refusesOtherText(hex: String) {
    #expect(Digest(.crc32, hex: Array(hex.utf8)[...]) == nil)
  }

  @Test func comparesAlgorithmAndAllBytes() throws {
    let bytes = [UInt8](repeating: 7, count: 64)
    let digest = try #require(Digest(.sha512, bytes: bytes))
    #expect(digest == Digest(.sha512, bytes: bytes))
    for index in 0..<64 {
      var other = bytes
      other[index] ^= 1
      #expect(digest != Digest(.sha512, bytes: other))
    }
    #expect(digest != Digest(.blake2b, bytes: bytes))
    #expect(digest.reinterpreted(as: .blake2b) == Digest(.blake2b, bytes: bytes))
    #expect(digest.reinterpreted(as: .sha384) == nil)
    #expect(Digest(.sha384, bytes: bytes) == nil)
  }
}
