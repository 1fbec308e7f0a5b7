import BatchEngine
import Synchronization

/// The keys for encrypted files: identities and passphrases.
package struct AgeKeys: Sendable {
  package var identities: [AgeIdentity]
  package var passphrases: [SecretBytes]
  /// The memory for checking a passphrase, in bytes.
  package var memory: Int
  private let known = KnownFileKeys()

  package init(identities: [AgeIdentity] = [], passphrases: [SecretBytes] = [], memory: Int = .max) {
    self.identities = identities
    self.passphrases = passphrases
    self.memory = memory
  }

  package var isEmpty: Bool { identities.isEmpty && passphrases.isEmpty }

  /// Whether a file begins like an encrypted one.
  package static func areNeeded(for start: some Collection<UInt8>) -> Bool {
    start.starts(with: AgeHeader.version.dropLast(2)) || start.starts(with: ArmorDecoder.header)
  }

  /// More than enough bytes to detect an encrypted file.
  package static let detectionLength = 64

  /// The key of a file; checks that it authenticates the header.
  ///
  /// - Throws: `malformed` for an invalid header; `unsupported` when none of these keys decrypts it.
  func fileKey(of header: AgeHeader) throws(BatchError) -> SecretBytes {
    if let key = known[header] { return key }
    let key = try unchecked(header)
    try header.check(key)
    known[header] = key
    return key
  }

  private func unchecked(_ header: AgeHeader) throws(BatchError) -> SecretBytes {
    if let stanza = header.stanzas.first(where: { $0.isOf(AgePassphrase.type) }) {
      guard header.stanzas.count == 1 else {
        throw AgeDamage.header("a passphrase has to be alone, and it has \(header.stanzas.count) recipients")
      }
      if let key = try AgePassphrase.open(stanza, passphrases, memory: memory) { return key }
      throw BatchError(
        .unsupported,
        passphrases.isEmpty
          ? "is encrypted with a passphrase, and none was given"
          : "is encrypted with a different passphrase", remedy: .givePassphrase)
    }
    for stanza in header.stanzas {
      for identity in identities {
        if let key = try identity.open(stanza) { return key }
      }
    }
    throw BatchError(
      .unsupported, "is encrypted, and none of the given identities decrypts it", remedy: .giveIdentity
    )
  }

  /// The error of an encrypted file for which no key was given.
  package static func missing(_ path: PathBytes) -> BatchError {
    BatchError(.unsupported, "is encrypted by age", path: path, remedy: .giveIdentity)
  }
}

/// A cache of file keys: a manifest is opened several times, and a passphrase takes a second each time.
private final class KnownFileKeys: Sendable {
  private static let most = 64
  private let keys = Mutex<[[UInt8]: SecretBytes]>([:])

  subscript(header: AgeHeader) -> SecretBytes? {
    get { keys.withLock { $0[header.bytes] } }
    set {
      keys.withLock { keys in
        if keys.count >= Self.most { keys.removeAll() }
        keys[header.bytes] = newValue
      }
    }
  }
}
