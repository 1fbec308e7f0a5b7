import BatchEngine

/// libarchive's message about a call that did not return `ARCHIVE_OK`, and its meaning.
///
/// libarchive uses one code for very different things: it warns when a name cannot be represented in the locale, and also when
/// a checksum is wrong. So a warning counts as damage unless its text is in a list of harmless remarks.
struct LibArchiveMessage {
  /// The meaning for the member that was read.
  enum Meaning {
    /// No effect: the member is as it was written.
    case harmless
    /// The member may be undamaged, but this program cannot read it.
    case unsupported
    case damage
    /// No damage of the archive: memory was exhausted.
    case noMemory
  }

  let text: String

  /// A name or an owner that cannot be represented in the locale. Harmless: only the bytes are used.
  private static let conversions = ["can't be converted from", "cannot be converted from"]

  /// 7z is read from its end.
  private static let seeking = "does not support seeking"

  private static let unsupported = [
    "ncrypt", "Passphrase", "Crypto codec", "nsupported", "not supported", "Unexpected codec ID",
    "Unknown codec ID", seeking,
  ]

  private static let noMemory = ["allocate", "No memory", "Out of memory", "no memory"]

  init(_ text: String) {
    self.text = text.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  /// Whether it concerns bytes before a member, not the member.
  var isGap: Bool { text.hasPrefix("Skipped ") }

  /// Whether the two headers of a zip member have different checksums. If the content is encrypted and was written to a pipe, the first
  /// header may have another number in that place.
  var isOfChecksum: Bool { text.hasPrefix("Inconsistent CRC32") }

  var meaning: Meaning {
    if Self.noMemory.contains(where: text.contains) { return .noMemory }
    if Self.conversions.contains(where: text.contains) { return .harmless }
    if Self.unsupported.contains(where: text.contains) { return .unsupported }
    return .damage
  }

  var error: BatchError {
    switch meaning {
    case .noMemory: .noCodecMemory
    case .unsupported where text.contains(Self.seeking):
      BatchError(
        .unsupported, "unsupported: the archive cannot be read as a stream",
        remedy: "give the archive itself as a file")
    case .unsupported: BatchError(.unsupported, "unsupported: \(text)")
    case .damage, .harmless: BatchError(.malformed, "damaged: \(text)")
    }
  }
}
