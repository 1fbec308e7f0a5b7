import BatchEngine
import Testing

@testable import BatchCore

@Suite("The digest of extended attributes")
struct AttributeDigestTests {
  private func attributes(_ pairs: KeyValuePairs<String, String>) -> [ExtendedAttribute] {
    pairs.map { ExtendedAttribute(name: Array($0.key.utf8), value: Array($0.value.utf8)) }
  }

  @Test("is the SHA-256 of the sorted names, sizes and values")
  func value() throws {
    let digest = try attributes(["user.b": "two", "user.a": "1"]).digest()
    #expect(digest == (try Digest.sha256(of: Array("user.a\u{0}1\u{0}1user.b\u{0}3\u{0}two".utf8))))
    #expect(digest == (try attributes(["user.a": "1", "user.b": "two"]).digest()))
  }

  @Test("does not exist without attributes")
  func none() throws {
    #expect(try [ExtendedAttribute]().digest() == nil)
  }

  @Test("differs if a name, a value, or where one ends differs")
  func differences() throws {
    let all = try [
      attributes(["user.a": ""]), attributes(["user.a": "x"]), attributes(["user.ax": ""]),
      attributes(["user.a": "y"]), attributes(["user.a": "x", "user.b": ""]),
      attributes(["user.a": "", "user.b": "x"]), attributes(["user.a": "1user.b"]),
    ].map { try $0.digest() }
    #expect(Set(all).count == all.count)
  }
}
