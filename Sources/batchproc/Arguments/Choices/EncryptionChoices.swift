import BatchCore
import BatchEngine

/// The recipients of encryption and the keys for decryption.
enum EncryptionChoices {
  private static let largestFile = 1 << 20
  private static let longestPassphrase = 1024

  /// The recipients or the passphrase for an output; nil if it is not encrypted.
  ///
  /// - Throws: `UsageError` when a recipient is not valid, or when recipients and a passphrase are given; the error of reading a file.
  static func lock(_ parsed: ParsedCommand) throws -> AgeLock? {
    let passphrase = parsed.bytes(.passphraseFile)
    var recipients = [AgeRecipient]()
    for option in parsed.given {
      guard case .bytes(let value) = option.value else { continue }
      switch option.id {
      case .encryptTo:
        guard let recipient = AgeRecipient(value.bytes) else {
          if TerminalText.isSecret(value.bytes) { throw secretKey(value, in: parsed.command) }
          throw UsageError(
            "The value \(quote(value)) of '--encrypt-to' is not a recipient; 'keygen' prints one, age1...",
            in: parsed.command)
        }
        recipients.append(recipient)
      case .encryptToFile:
        recipients += try AgeRecipient.list(try SmallFile.readNamed(value, limit: largestFile), value)
      default: continue
      }
    }
    guard let passphrase else {
      guard !recipients.isEmpty else { return nil }
      // The keys of files are in memory while the files are written.
      SecretFile.protectProcess()
      return .recipients(unique(recipients))
    }
    guard recipients.isEmpty else {
      throw UsageError(
        "--passphrase-file cannot be used with --encrypt-to: a passphrase is alone in a file of age.",
        in: parsed.command)
    }
    return .passphrase(try readPassphrase(passphrase, isNew: true))
  }

  /// The error of a secret key in the place of its recipient; it has the recipient, and never the key.
  private static func secretKey(_ value: PathBytes, in command: CommandSpec) -> UsageError {
    let identity = try? withBytes(of: value.bytes) { (raw) throws(BatchError) in
      try AgeIdentity.list(raw, value).first
    }
    return UsageError(
      "The value of '--encrypt-to' is a secret key. Its recipient is expected, age1...", in: command,
      correction: identity.map { .replace(value.bytes, by: $0.recipient.text) })
  }

  private static func unique(_ recipients: [AgeRecipient]) -> [AgeRecipient] {
    var known: Set<AgeRecipient> = []
    return recipients.filter { known.insert($0).inserted }
  }

  /// The keys for encrypted files; nil if none was given.
  ///
  /// - Throws: the error of reading a file; `unreadable` for a file that others may read.
  static func keys(_ parsed: ParsedCommand) throws(BatchError) -> AgeKeys? {
    var keys = AgeKeys()
    for option in parsed.given {
      guard case .bytes(let path) = option.value else { continue }
      if option.id == .identity {
        keys.identities += try read(path, limit: largestFile, prompt: "Identity") {
          (content) throws(BatchError) in try AgeIdentity.list(content, path)
        }
      }
    }
    if let path = parsed.bytes(.passphraseFile) { keys.passphrases.append(try readPassphrase(path)) }
    return keys.isEmpty ? nil : keys
  }

  /// - Parameter isNew: whether something is encrypted with it. A set that has such a passphrase can still be read.
  private static func readPassphrase(_ path: PathBytes, isNew: Bool = false) throws(BatchError) -> SecretBytes
  {
    try read(path, limit: longestPassphrase, prompt: "Passphrase") {
      (content) throws(BatchError) in
      var content = content[...]
      if content.last == UInt8(ascii: "\n") { content = content.dropLast() }
      if content.last == UInt8(ascii: "\r") { content = content.dropLast() }
      guard !content.isEmpty else { throw BatchError(.malformed, "has no passphrase", path: path) }
      guard !isNew || !content.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
        throw BatchError(
          .malformed,
          "has more than one line, or a control character; 'age -d' cannot be given such a passphrase",
          path: path)
      }
      return try SecretBytes(copying: content)
    }
  }

  private static func read<Result>(
    _ path: PathBytes, limit: Int, prompt: String,
    _ body: (UnsafeRawBufferPointer) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    SecretFile.protectProcess()
    var count = 0
    let room = try SecretBytes(count: limit) { (room) throws(BatchError) in
      count = try SecretFile.read(path, into: room, prompt: prompt)
    }
    return try room.withBytes { (raw) throws(BatchError) in
      try body(UnsafeRawBufferPointer(rebasing: raw[..<count]))
    }
  }
}
