import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite("Files in the age format") struct AgeFileTests {
  private let identity: AgeIdentity
  private let keys: AgeKeys
  private let lock: AgeLock

  init() throws {
    identity = try AgeIdentity()
    keys = AgeKeys(identities: [identity])
    lock = .recipients([identity.recipient])
  }

  @Test(
    "are decrypted to the encrypted content, at any width",
    arguments: [0, 1, 65_535, 65_536, 65_537, 131_072, 3_000_001], [1, 3])
  func roundTrip(size: Int, width: Int) throws {
    let plain = TreeFixture.content(size)
    let sealed = try MemoryFile.sealed(plain, for: lock, width: width)
    #expect(try sealed.opened(keys, width: width).equals(plain))
    #expect(try sealed.streamed(keys).equals(plain))
    #expect(try sealed.streamed(keys, step: 4093).equals(plain))
  }

  @Test("are decrypted by each of twenty recipients, and by no other key")
  func recipients() throws {
    let identities = try (0..<20).map { _ in try AgeIdentity() }
    let sealed = try MemoryFile.sealed(Array("text".utf8), for: .recipients(identities.map(\.recipient)))
    for identity in identities {
      #expect(try sealed.opened(AgeKeys(identities: [identity])) == Array("text".utf8))
    }
    expectError(.unsupported) { try sealed.opened(keys) }
  }

  @Test("are decrypted with their passphrase only, within the memory limit")
  func passphrase() throws {
    let right = try SecretBytes(copying: Array("right".utf8))
    let wrong = try SecretBytes(copying: Array("wrong".utf8))
    let text = Array("text".utf8)
    let sealed = try MemoryFile.sealed(text, for: .passphrase(right))
    #expect(try sealed.opened(AgeKeys(passphrases: [right])) == text)
    expectError(.unsupported) { try sealed.opened(keys) }
    expectError(.exhausted) {
      try sealed.opened(AgeKeys(passphrases: [right], memory: 1 << 20))
    }
    let light = try Self.sealed(text, for: right, factor: 10)
    #expect(try light.opened(AgeKeys(passphrases: [wrong, right])) == text)
    expectError(.unsupported) { try light.opened(AgeKeys(passphrases: [wrong])) }
  }

  /// Bytes encrypted with a passphrase by another program, which chose the work factor.
  private static func sealed(
    _ plain: [UInt8], for passphrase: SecretBytes, factor: Int
  ) throws -> [UInt8] {
    let fileKey = try Primitives.randomSecret(Primitives.fileKeySize)
    let salt = try Primitives.random(AgePassphrase.saltSize)
    let key = try Primitives.stretch(passphrase, salt: AgePassphrase.label + salt, factor: factor)
    let stanza = AgeHeader.Stanza(
      arguments: [
        Array(AgePassphrase.type.utf8), CanonicalBase64.encode(salt), Array(String(factor).utf8),
      ],
      body: try Primitives.wrap(fileKey, by: key))
    let header = try AgeHeader([stanza], fileKey: fileKey)
    let file = MemoryFile()
    let output = try EncryptedOutput(
      file, as: header.bytes.reading, keys: AgeKeys(passphrases: [passphrase]))
    try output.write(plain)
    try output.finish()
    return file.bytes
  }

  @Test("can be decrypted in any part")
  func parts() throws {
    let plain = TreeFixture.content(400_000)
    let sealed = try MemoryFile.sealed(plain, for: lock)
    let file = try AgeFile(size: UInt64(sealed.count), keys: keys, width: 2, reading: sealed.reading)
    #expect(file.size == 400_000)
    var numbers = SeededNumbers(seed: 5)
    for _ in 0..<200 {
      let start = Int.random(in: 0...plain.count, using: &numbers)
      let end = min(plain.count, start + Int.random(in: 0...200_000, using: &numbers))
      #expect(try file.bytes(start..<end) == Array(plain[start..<end]))
    }
    #expect(try file.bytes(399_990..<400_010).count == 10)
    #expect(try file.bytes(500_000..<500_010).isEmpty)
  }

  @Test("with a flipped bit are refused")
  func flips() throws {
    let plain = TreeFixture.content(200_000)
    let sealed = try MemoryFile.sealed(plain, for: lock)
    var numbers = SeededNumbers(seed: 9)
    for _ in 0..<Campaign.cases(2000) {
      var damaged = sealed
      damaged[Int.random(in: damaged.indices, using: &numbers)] ^=
        1 << UInt8.random(in: 0..<8, using: &numbers)
      let error = #expect(throws: BatchError.self) { try damaged.opened(keys) }
      #expect(error?.code == .malformed || error?.code == .unsupported)
      expectError(.malformed, .unsupported) { try damaged.streamed(keys) }
    }
  }

  @Test("that were cut anywhere are refused, also between two chunks")
  func cuts() throws {
    let sealed = try MemoryFile.sealed(TreeFixture.content(200_000), for: lock)
    let header = sealed.count - 200_000 - 4 * 16
    var numbers = SeededNumbers(seed: 11)
    let places =
      (0..<3).map { header + $0 * 65_552 }
      + (0..<Campaign.cases(200)).map { _ in
        Int.random(in: 0..<sealed.count, using: &numbers)
      }
    for place in places {
      let cut = Array(sealed[..<place])
      expectError(.malformed, .unsupported) {
        try AgeFile(size: UInt64(cut.count), keys: keys, reading: cut.reading)
      }
      expectError(.malformed, .unsupported) { try cut.streamed(keys) }
    }
    expectError(.malformed) { try (sealed + [0]).opened(keys) }
    expectError(.malformed) { try (sealed + [0]).streamed(keys) }
  }

  @Test("with damage in one part give an error for it, and the content of the other parts")
  func besideDamage() throws {
    let plain = TreeFixture.content(300_000)
    var sealed = try MemoryFile.sealed(plain, for: lock)
    let header = sealed.count - 300_000 - 5 * 16
    sealed[header + 65_552 + 100] ^= 1
    let file = try AgeFile(size: UInt64(sealed.count), keys: keys, reading: sealed.reading)
    #expect(try file.bytes(0..<65_536) == Array(plain[..<65_536]))
    #expect(try file.bytes(131_072..<300_000) == Array(plain[131_072...]))
    let error = expectError(.malformed) { try file.bytes(65_530..<65_540) }
    #expect(error?.message.contains("bytes \(header + 65_552) to \(header + 2 * 65_552)") == true)
  }

  @Test("are read back with the key in memory, and refused when their header was changed")
  func readBack() throws {
    let file = MemoryFile()
    let output = try EncryptedOutput(file, for: lock, digested: true)
    try output.write(TreeFixture.content(100_000))
    try output.seal()
    let bytes = file.bytes
    let reader = try output.reader(size: UInt64(bytes.count), reading: bytes.reading)
    #expect(try reader.bytes(0..<100_000) == TreeFixture.content(100_000))
    #expect(output.size == UInt64(bytes.count))
    #expect(
      try output.digest
        == withBytes(of: bytes) { (raw) throws(BatchError) in
          try DigestStream(.sha256).digest(of: raw)
        })
    var other = bytes
    other[30] ^= 1
    expectError(.malformed) { try output.reader(size: UInt64(other.count), reading: other.reading) }
  }

  @Test("secrets are overwritten in arrays")
  func cleansing() {
    var bytes: [UInt8] = [1, 2, 3]
    bytes.cleanse()
    #expect(bytes == [0, 0, 0])
  }
}
