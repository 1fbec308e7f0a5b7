import BatchEngine

extension DigestAlgorithm {
  /// The name in a tagged line, in the spelling of `sha256sum --tag`, `openssl` and `xxhsum`.
  public var bsdTag: String {
    switch self {
    case .sha256: "SHA256"
    case .sha512: "SHA512"
    case .sha384: "SHA384"
    case .sha224: "SHA224"
    case .sha1: "SHA1"
    case .md5: "MD5"
    case .blake2b: "BLAKE2b"
    case .blake3: "BLAKE3"
    case .sha3Bits256: "SHA3-256"
    case .sha3Bits512: "SHA3-512"
    case .xxh3: "XXH3"
    case .xxh128: "XXH128"
    case .crc32: "CRC32"
    }
  }

  /// The column of a hashdeep manifest, nil if hashdeep has none.
  public var hashdeepColumn: String? {
    switch self {
    case .md5, .sha1, .sha256: rawValue
    default: nil
    }
  }

  /// The keyword of an mtree manifest in libarchive's spelling, nil if mtree has none.
  public var mtreeKeyword: String? {
    switch self {
    case .md5, .sha1, .sha256, .sha384, .sha512: rawValue + "digest"
    default: nil
    }
  }

  /// The algorithm for a name that a user typed: a raw value, a tag or libcrypto's name, in any case.
  public init?(name: String) {
    let wanted = name.lowercased()
    let found = Self.allCases.first { algorithm in
      wanted == algorithm.rawValue || wanted == algorithm.opensslName?.lowercased()
    }
    guard let found else { return nil }
    self = found
  }

  /// The algorithm for a tag in a manifest, including the spellings of `openssl`; case-sensitive.
  init?(tag: ArraySlice<UInt8>) {
    let found = Self.allCases.first { algorithm in
      tag.elementsEqual(algorithm.bsdTag.utf8)
        || algorithm.opensslName.map { tag.elementsEqual($0.utf8) } ?? false
    }
    guard let found else { return nil }
    self = found
  }

  /// The algorithm for an mtree keyword in any of its spellings: `sha256` and `sha256digest`.
  init?(mtreeKeyword keyword: ArraySlice<UInt8>) {
    let found = Self.allCases.first { algorithm in
      algorithm.mtreeKeyword != nil
        && (keyword.elementsEqual(algorithm.rawValue.utf8)
          || keyword.elementsEqual((algorithm.mtreeKeyword ?? "").utf8))
    }
    guard let found else { return nil }
    self = found
  }

  /// All algorithms whose digests have this many hexadecimal digits, the default one first.
  ///
  /// More than one means that a line without a tag is ambiguous: 128 digits are SHA-512, BLAKE2b or SHA3-512.
  public static func candidates(hexLength: Int) -> [DigestAlgorithm] {
    // The order of the cases puts MD5 before XXH128, and SHA-2 before SHA-3.
    allCases.filter { $0.byteCount * 2 == hexLength }
  }
}
