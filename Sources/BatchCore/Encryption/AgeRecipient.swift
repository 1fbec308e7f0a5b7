import BatchEngine

/// A recipient of encrypted files: an X25519 public key, `age1…`.
package struct AgeRecipient: Sendable, Hashable {
  static let type = "X25519"
  private static let prefix = "age"

  let key: [UInt8]

  /// - Returns: nil when the text is not such a recipient.
  package init?(_ text: some Collection<UInt8>) {
    guard text.count < 128, let key = Bech32.decode(text, prefix: Self.prefix),
      key.count == Primitives.keySize,
      !text.contains(where: { (0x41...0x5A).contains($0) })
    else { return nil }
    self.key = key
  }

  init(key: [UInt8]) { self.key = key }

  package var text: String { String(decoding: Bech32.encode(key, prefix: Self.prefix), as: UTF8.self) }

  func stanza(for fileKey: SecretBytes) throws(BatchError) -> AgeHeader.Stanza {
    let ephemeral = try Primitives.randomSecret(Primitives.keySize)
    let share = try Primitives.publicKey(of: ephemeral)
    guard let shared = try Primitives.agree(ephemeral, with: key) else {
      throw BatchError(.invalid, "the recipient \(text) is a key that protects nothing")
    }
    let wrapping = try Primitives.derive(shared, salt: share + key, info: Self.info)
    return AgeHeader.Stanza(
      arguments: [Array(Self.type.utf8), CanonicalBase64.encode(share)],
      body: try Primitives.wrap(fileKey, by: wrapping)
    )
  }

  static let info = "age-encryption.org/v1/X25519"

  /// Recipients as `age -R` reads them: one on each line, with empty lines and comments with #.
  ///
  /// - Throws: `malformed` with the number of the line.
  package static func list(_ content: [UInt8], _ path: PathBytes) throws(BatchError) -> [AgeRecipient] {
    try keys(
      in: content, path, wrong: "is not a recipient: age1… is expected", none: "has no recipient"
    ) { AgeRecipient($0) }
  }

  /// The keys in a file: one on each line, with empty lines and comments with #.
  ///
  /// - Parameters:
  ///   - wrong: the error of a line, after its number.
  ///   - none: the error of a file without keys.
  /// - Throws: `malformed`.
  static func keys<Content: BidirectionalCollection<UInt8>, Key>(
    in content: Content, _ path: PathBytes, wrong: String, none: String,
    _ parse: (Content.SubSequence) throws(BatchError) -> Key?
  ) throws(BatchError) -> [Key] {
    var keys = [Key]()
    for (index, line) in content.split(separator: AgeHeader.newline, omittingEmptySubsequences: false)
      .enumerated()
    {
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
      guard let key = try parse(line) else {
        throw BatchError(.malformed, "line \(index + 1) \(wrong)", path: path)
      }
      keys.append(key)
    }
    guard !keys.isEmpty else { throw BatchError(.malformed, none, path: path) }
    return keys
  }
}

/// The recipients or the passphrase of an encrypted file.
package enum AgeLock: Sendable {
  case recipients([AgeRecipient])
  case passphrase(SecretBytes)

  /// A word that is equal for equal recipients.
  package var word: String {
    switch self {
    case .passphrase: return "passphrase"
    case .recipients(let recipients):
      let text = recipients.map(\.text).sorted().joined(separator: " ")
      let digest = try? withBytes(of: Array(text.utf8)) { (raw) throws(BatchError) in
        try DigestStream(.sha256).digest(of: raw)
      }
      return String((digest?.hex ?? text).prefix(16))
    }
  }

  /// The base-2 logarithm of the scrypt work for one guess of a passphrase: about a second.
  static let workFactor = 18

  func stanzas(for fileKey: SecretBytes) throws(BatchError) -> [AgeHeader.Stanza] {
    switch self {
    case .recipients(let recipients):
      var stanzas = [AgeHeader.Stanza]()
      for recipient in recipients { stanzas.append(try recipient.stanza(for: fileKey)) }
      return stanzas
    case .passphrase(let passphrase):
      let salt = try Primitives.random(AgePassphrase.saltSize)
      let key = try Primitives.stretch(passphrase, salt: AgePassphrase.label + salt, factor: Self.workFactor)
      return [
        AgeHeader.Stanza(
          arguments: [
            Array(AgePassphrase.type.utf8), CanonicalBase64.encode(salt), Array(String(Self.workFactor).utf8),
          ],
          body: try Primitives.wrap(fileKey, by: key))
      ]
    }
  }
}
