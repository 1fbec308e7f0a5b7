import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("Names of attributes in pax records")
struct AttributeNamesTests {
  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test(
    "have codes only for what a key cannot hold, and for what looks like a code",
    arguments: [
      ("user.a=b", "user.a%3Db"), ("user.100%", "user.100%"), ("user.my key", "user.my key"),
      ("user.\u{e9}", "user.\u{e9}"), ("user.a%20b", "user.a%2520b"), ("user.%3D", "user.%253D"),
      ("user.%41", "user.%41"), ("user.%3d", "user.%3d"), ("user.%=", "user.%%3D"),
      ("user.%%25", "user.%%2525"),
    ])
  func written(name: String, key: String) {
    #expect(text(AttributeNames.encoded(Array(name.utf8))) == key)
    #expect(text(AttributeNames.decoded(Array(key.utf8))) == name)
  }

  @Test(
    "are read as GNU tar and libarchive write them",
    arguments: [
      ("user.my%20key", "user.my key"), ("user.%C3%A9", "user.\u{e9}"), ("user.100%25", "user.100%"),
      ("user.p%2520q", "user.p%20q"), ("user.a%00", "user.a%00"), ("%", "%"), ("%3", "%3"),
    ])
  func read(key: String, name: String) {
    #expect(text(AttributeNames.decoded(Array(key.utf8))) == name)
  }

  @Test("are the same after writing and reading, whatever their bytes are")
  func roundTrip() {
    var numbers = SeededNumbers(seed: 25)
    let bytes = Array("%%%=235DdF a".utf8) + [0xc3, 0xa9, 0x0a, 0x7f]
    for _ in 0..<5_000 {
      let name = (0..<Int.random(in: 0..<9, using: &numbers)).compactMap { _ in
        bytes.randomElement(using: &numbers)
      }
      let key = AttributeNames.encoded(name)
      #expect(!key.contains(UInt8(ascii: "=")))
      #expect(AttributeNames.decoded(key) == name, "\(name)")
    }
  }
}
