import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite("Text forms of the age format") struct TextFormsTests {
  @Test("base64 without padding is encoded and decoded for any length", arguments: 0...66)
  func base64(count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + 251) }
    let text = CanonicalBase64.encode(bytes)
    #expect(CanonicalBase64.decode(text) == bytes)
    #expect(!text.contains(UInt8(ascii: "=")))
  }

  @Test(
    "base64 that is not canonical is refused",
    arguments: ["A", "AAAAA", "AB", "AAB", "AA==", "AA A", "AA\n", "A-_A", "AAé"])
  func nonCanonical(text: String) {
    #expect(CanonicalBase64.decode(Array(text.utf8)) == nil)
  }

  @Test("an identity has the text form of age, and the right recipient")
  func identity() throws {
    // The identity of most test vectors of age.
    let text = "AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0"
    let identity = try #require(try AgeIdentity(Array(text.utf8)))
    #expect(String(decoding: try identity.text(), as: UTF8.self) == text)
    #expect(AgeRecipient(Array(identity.recipient.text.utf8)) == identity.recipient)
    let new = try AgeIdentity()
    #expect(try AgeIdentity(new.text())?.recipient == new.recipient)
    #expect(new.recipient != identity.recipient)
  }

  @Test("a wrong character, the other case and another prefix are refused")
  func wrongText() throws {
    let identity = try AgeIdentity()
    let text = Array(identity.recipient.text.utf8)
    for place in text.indices.dropFirst(4) {
      var other = text
      other[place] = other[place] == UInt8(ascii: "q") ? UInt8(ascii: "p") : UInt8(ascii: "q")
      #expect(AgeRecipient(other) == nil)
    }
    #expect(AgeRecipient(Array(identity.recipient.text.uppercased().utf8)) == nil)
    #expect(AgeRecipient(try identity.text()) == nil)
    #expect(try AgeIdentity(text) == nil)
    #expect(AgeRecipient(Array("age1".utf8)) == nil)
    #expect(AgeRecipient([UInt8](repeating: UInt8(ascii: "a"), count: 100_000)) == nil)
  }

  @Test("a list of recipients may have comments, and its error names the line")
  func recipients() throws {
    let one = try AgeIdentity().recipient
    let text = "# mine\n\n\(one.text)\r\n"
    #expect(try AgeRecipient.list(Array(text.utf8), "r") == [one])
    let error = expectError(.malformed) {
      try AgeRecipient.list(Array("\(text)ssh-ed25519 A\n".utf8), "r")
    }
    #expect(error?.message.contains("line 4") == true)
  }

  @Test("a file of identities that is encrypted, or has a line of another kind, is refused")
  func identities() throws {
    func list(_ text: String) throws -> Int {
      try withBytes(of: Array(text.utf8)) { (raw) throws(BatchError) in try AgeIdentity.list(raw, "k").count }
    }
    let key = String(decoding: try AgeIdentity().text(), as: UTF8.self)
    #expect(try list("# created\n\(key)\n\n\(key)") == 2)
    for text in ["", "# nothing\n", "AGE-PLUGIN-X-1QQ\n", "age-encryption.org/v1\n", "\(key)x\n"] {
      let error = expectError(.malformed, .unsupported) { try list(text) }
      #expect(error.map { !$0.message.contains(key.dropFirst(20)) } == true)
    }
  }
}
