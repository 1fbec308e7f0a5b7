import BatchEngine

extension ManifestEntry {
  /// Other possible readings of the digest, if its algorithm was chosen only by length.
  ///
  /// Only collision-resistant algorithms: an attacker who chooses a file's bytes must not be able to match a cryptographic
  /// digest with a fast checksum of the same length.
  var otherReadings: [Digest] {
    guard isAlgorithmGuessed, let digest = digests.first, digests.count == 1 else { return [] }
    return DigestAlgorithm.candidates(hexLength: digest.algorithm.byteCount * 2)
      .filter { $0 != digest.algorithm && $0.resistsIntent }
      .compactMap { digest.reinterpreted(as: $0) }
  }
}

extension DigestAlgorithm {
  /// Whether no method is known to create a second file with the same digest.
  var resistsIntent: Bool {
    switch self {
    case .xxh3, .xxh128, .crc32, .md5, .sha1: false
    case .sha256, .sha512, .sha384, .sha224, .blake2b, .blake3, .sha3Bits256, .sha3Bits512: true
    }
  }
}
