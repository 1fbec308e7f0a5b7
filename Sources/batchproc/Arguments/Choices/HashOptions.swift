import BatchCore
import BatchEngine

/// The options of `hash`, in addition to the common ones.
struct HashOptions: Sendable, Equatable {
  static let algorithmNames = [
    "sha256", "sha512", "sha384", "sha224", "sha1", "md5", "blake2b", "blake3", "sha3-256", "sha3-512",
    "xxh3",
    "xxh128", "crc32",
  ]

  /// Other usual names of the algorithms, in lower case.
  static let algorithmAliases = [
    ("sha-256", "sha256"), ("sha-512", "sha512"), ("sha-384", "sha384"), ("sha-224", "sha224"),
    ("sha-1", "sha1"), ("sha2", "sha256"), ("md-5", "md5"), ("b2", "blake2b"), ("b3", "blake3"),
    ("blake2", "blake2b"), ("sha3", "sha3-256"), ("sha3_256", "sha3-256"), ("sha3_512", "sha3-512"),
    ("xxh3-64", "xxh3"), ("xxh3-128", "xxh128"),
  ].map(ValueSyntax.Alias.init)

  /// In the order given, without duplicates, never empty.
  let algorithms: [DigestAlgorithm]
  let format: ManifestFormat
  let endsRowsInNUL: Bool
  /// nil for standard output.
  let output: PathBytes?
  let replacesOutput: Bool
  let usesCache: Bool
  /// The share of cached files that are still read, from 0 to 1.
  let verifiedShare: Double

  init(_ parsed: ParsedCommand) {
    let named = parsed.choices(.algorithm).compactMap(DigestAlgorithm.init(rawValue:))
      .reduce(into: [DigestAlgorithm]()) { if !$0.contains($1) { $0.append($1) } }
    algorithms = named.isEmpty ? [.sha256] : named
    // --tag is another way to write --format, so the last of both wins.
    let lastFormat = parsed.given.last { $0.id == .format || $0.id == .tag }
    format = lastFormat?.id == .tag ? .bsd : parsed.choice(.format) ?? .gnu
    endsRowsInNUL = parsed.flag(.zero)
    let target = parsed.bytes(.output)
    output = target == "-" ? nil : target
    replacesOutput = parsed.flag(.force)
    verifiedShare = Double(parsed.count(.cacheVerify) ?? 0) / 100
    usesCache = parsed.flag(.cache) || verifiedShare > 0
  }

  func writer() throws(BatchError) -> ManifestWriter {
    try ManifestWriter(format, algorithms: algorithms, zero: endsRowsInNUL)
  }
}
