import BatchEngine

/// The private key of a recipient, `AGE-SECRET-KEY-1…`.
package struct AgeIdentity: Sendable {
  private static let prefix = "age-secret-key-"

  private let secret: SecretBytes
  package let recipient: AgeRecipient

  /// Creates a new identity.
  package init() throws(BatchError) {
    secret = try Primitives.randomSecret(Primitives.keySize)
    recipient = AgeRecipient(key: try Primitives.publicKey(of: secret))
  }

  /// - Returns: nil when the text is not such an identity.
  init?(_ text: some Collection<UInt8>) throws(BatchError) {
    guard text.count < 128, var key = Bech32.decode(text, prefix: Self.prefix) else { return nil }
    defer { key.cleanse() }
    guard key.count == Primitives.keySize, !text.contains(where: { (0x61...0x7A).contains($0) }) else {
      return nil
    }
    secret = try SecretBytes(copying: key)
    recipient = AgeRecipient(key: try Primitives.publicKey(of: secret))
  }

  /// The text as written by `age-keygen`; the caller clears it.
  package func text() throws(BatchError) -> [UInt8] {
    try secret.withBytes { (raw) throws(BatchError) in
      var small = Bech32.encode(raw, prefix: Self.prefix)
      defer { small.cleanse() }
      return small.map { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 }
    }
  }

  /// - Returns: nil when the stanza is for another recipient.
  /// - Throws: `malformed` for a stanza of its type that is not valid.
  func open(_ stanza: AgeHeader.Stanza) throws(BatchError) -> SecretBytes? {
    guard stanza.isOf(AgeRecipient.type) else { return nil }
    guard stanza.arguments.count == 2, let share = CanonicalBase64.decode(stanza.arguments[1]),
      share.count == Primitives.keySize, stanza.body.count == Primitives.fileKeySize + Primitives.tagSize,
      let shared = try Primitives.agree(secret, with: share)
    else { throw AgeDamage.header("an X25519 recipient is not valid") }
    let key = try Primitives.derive(shared, salt: share + recipient.key, info: AgeRecipient.info)
    return try Primitives.unwrap(stanza.body, by: key)
  }

  /// Identities as `age-keygen` writes them: one on each line, with empty lines and comments with #.
  ///
  /// - Throws: `malformed` with the number of the line, never with its content; `unsupported` for plugins of age.
  package static func list(
    _ content: UnsafeRawBufferPointer, _ path: PathBytes
  ) throws(BatchError) -> [AgeIdentity] {
    if content.starts(with: AgeHeader.version) || content.starts(with: ArmorDecoder.header) {
      throw BatchError(
        .unsupported, "is itself encrypted", path: path, remedy: "decrypt it with age -d, and give the result"
      )
    }
    return try AgeRecipient.keys(
      in: content, path, wrong: "is not an identity: AGE-SECRET-KEY-1… is expected", none: "has no identity"
    ) { (line) throws(BatchError) in try AgeIdentity(line) }
  }
}

/// The passphrase stanza of a header.
enum AgePassphrase {
  static let type = "scrypt"
  static let saltSize = 16
  static let label = Array("age-encryption.org/v1/scrypt".utf8)
  /// This takes 4 GiB of memory and half a minute.
  private static let highestFactor = 22

  /// - Parameter memory: the memory limit in bytes.
  /// - Returns: nil for a wrong passphrase.
  /// - Throws: `malformed` for a stanza that is not valid; `exhausted`.
  static func open(
    _ stanza: AgeHeader.Stanza, _ passphrases: [SecretBytes], memory: Int
  ) throws(BatchError) -> SecretBytes? {
    let (salt, factor) = try check(stanza)
    guard !passphrases.isEmpty else { return nil }
    guard Primitives.memoryToStretch(factor: factor) <= memory else {
      throw BatchError(
        .exhausted,
        "its passphrase needs \(Primitives.memoryToStretch(factor: factor) >> 20) MiB of memory to be checked",
        remedy: .raiseMemory)
    }
    for passphrase in passphrases {
      let key = try Primitives.stretch(passphrase, salt: label + salt, factor: factor)
      if let fileKey = try Primitives.unwrap(stanza.body, by: key) { return fileKey }
    }
    return nil
  }

  private static func check(_ stanza: AgeHeader.Stanza) throws(BatchError) -> (salt: [UInt8], factor: Int) {
    guard stanza.arguments.count == 3, let salt = CanonicalBase64.decode(stanza.arguments[1]),
      salt.count == saltSize, stanza.body.count == Primitives.fileKeySize + Primitives.tagSize,
      let factor = DecimalDigits.value(of: stanza.arguments[2][...]),
      stanza.arguments[2].first != UInt8(ascii: "0")
    else { throw AgeDamage.header("its passphrase stanza is not valid") }
    guard factor <= UInt64(highestFactor) else {
      throw AgeDamage.header("the work factor of its passphrase is above \(highestFactor)")
    }
    return (salt, Int(factor))
  }
}
