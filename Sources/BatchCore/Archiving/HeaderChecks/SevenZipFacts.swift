import BatchEngine

/// What libarchive does not pass on from a 7z header, or changes.
struct SevenZipFacts {
  /// The names that libarchive may convert to normal form C, by the number of their member.
  var names: [Int: PathBytes] = [:]
  /// The numbers of members that have no content.
  var emptyFiles: Set<Int> = []
  /// Called once for each member, in their order.
  var folders = SevenZipFolders()
  /// A valid part of the header that libarchive cannot read.
  var unreadablePart: String?
}

/// The folders of a 7z archive: contents that are compressed together.
struct SevenZipFolders {
  var rows: [(coders: [SevenZipCoder], contents: Int)] = []
  private var folder = 0
  private var used = 0

  /// - Returns: the coders of the next member; empty if it has no content.
  mutating func next(hasContent: Bool) -> [SevenZipCoder] {
    guard hasContent else { return [] }
    while folder < rows.count, used >= rows[folder].contents { (folder, used) = (folder + 1, 0) }
    used += 1
    return folder < rows.count ? rows[folder].coders : []
  }
}

/// A method of compression, or a filter.
struct SevenZipCoder: Equatable {
  private static let names: [UInt64: String] = [
    0: "Copy", 3: "Delta", 4: "BCJ", 5: "PPC", 6: "IA64", 7: "ARM", 8: "ARMT", 9: "SPARC", 0xA: "ARM64",
    0xB: "RISCV",
    0x21: "LZMA2", 0x20302: "Swap2", 0x20304: "Swap4", 0x30101: "LZMA", 0x30401: "PPMd", 0x40108: "Deflate",
    0x40109: "Deflate64", 0x40202: "BZip2", 0x303_0103: "BCJ", 0x303_011B: "BCJ2", 0x303_0205: "PPC",
    0x303_0401: "IA64",
    0x303_0501: "ARM", 0x303_0701: "ARMT", 0x303_0805: "SPARC", 0x4F7_1101: "Zstandard", 0x4F7_1102: "Brotli",
    0x4F7_1104: "LZ4", 0x6F1_0701: "AES",
  ]
  private static let lzma = SevenZipCoder(number: 0x30101)
  private static let ppmd = SevenZipCoder(number: 0x30401)
  /// Filters over LZMA whose last bytes libarchive 3.6 does not return.
  private static let incomplete: [UInt64] = [0x303_0205, 0x303_0401, 0x303_0501, 0x303_0701, 0x303_0805]

  let number: UInt64

  var name: String { Self.names[number] ?? "the coder " + String(number, radix: 16, uppercase: true) }
  var isCipher: Bool { number >> 20 == 0x6F }

  /// Whether libarchive 3.6 may not decode all that these coders have written.
  static func areDecodedInPart(_ coders: [SevenZipCoder]) -> Bool {
    coders.contains(ppmd) || (coders.contains(lzma) && coders.contains { incomplete.contains($0.number) })
  }
}
