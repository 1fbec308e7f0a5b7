import BatchEngine

/// A function that computes a short value from the bytes of a file, to compare files.
///
/// The raw value is the name on the command line and in JSON manifests.
public enum DigestAlgorithm: String, CaseIterable, Sendable {
  case sha256
  case sha512
  case sha384
  case sha224
  case sha1
  case md5
  /// BLAKE2b with 512 bits, as `b2sum` computes it.
  case blake2b
  /// BLAKE3 with 256 bits, as `b3sum` computes it: a tree hash, so that all cores can work on one large file.
  case blake3
  case sha3Bits256 = "sha3-256"
  case sha3Bits512 = "sha3-512"
  /// XXH3 with 64 bits: fast, but no protection against intended changes.
  case xxh3
  /// XXH3 with 128 bits: fast, but no protection against intended changes.
  case xxh128
  /// The CRC-32 of zlib, gzip and PNG; not the one that POSIX `cksum` prints.
  case crc32

  /// The length of a digest in bytes; its hexadecimal text has twice as many digits.
  public var byteCount: Int {
    switch self {
    case .crc32: 4
    case .xxh3: 8
    case .md5, .xxh128: 16
    case .sha1: 20
    case .sha224: 28
    case .sha256, .blake3, .sha3Bits256: 32
    case .sha384: 48
    case .sha512, .blake2b, .sha3Bits512: 64
    }
  }

  /// The name of the algorithm in libcrypto; nil if another library computes it.
  var opensslName: String? {
    switch self {
    case .sha256: "SHA2-256"
    case .sha512: "SHA2-512"
    case .sha384: "SHA2-384"
    case .sha224: "SHA2-224"
    case .sha1: "SHA1"
    case .md5: "MD5"
    case .blake2b: "BLAKE2B-512"
    case .sha3Bits256: "SHA3-256"
    case .sha3Bits512: "SHA3-512"
    case .blake3, .xxh3, .xxh128, .crc32: nil
    }
  }
}
