extension PathFilter {
  /// The name of the file that marks a folder as a cache (bford.info/cachedir).
  public static let cacheTagName = PathBytes("CACHEDIR.TAG")

  /// How many bytes of a tag file are needed to recognize it.
  public static let cacheTagLength = cacheTagSignature.count

  private static let cacheTagSignature = Array("Signature: 8a477f597d28d172789f06886806bc55".utf8)

  /// Whether a file named ``cacheTagName`` that starts with these bytes marks its folder as a cache.
  public static func isCacheTag(_ start: some Collection<UInt8>) -> Bool {
    start.prefix(cacheTagLength).elementsEqual(cacheTagSignature)
  }
}
