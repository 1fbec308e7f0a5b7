import BatchEngine

/// What libarchive says of a call that did not end with `ARCHIVE_OK`, and what follows from it.
///
/// libarchive has one number for very different things: it warns when a name has no form in the locale, and it warns when a
/// checksum is wrong. So a warning counts as damage unless its text is on a list of remarks that are known to be harmless.
struct LibraryMessage {
  /// What it means for the member that was read.
  enum Meaning {
    /// Nothing: the member is as it was written.
    case harmless
    /// The member may be whole, but this program cannot read it.
    case unsupported
    case damage
    /// Nothing about the archive: memory ran out.
    case noMemory
  }

  let text: String

  /// A name or an owner that has no form in the locale. It was asked for bytes and not to convert anything.
  private static let conversions = ["can't be converted from", "cannot be converted from"]

  private static let unsupported = [
    "ncrypt", "Passphrase", "Crypto codec", "nsupported", "not supported", "Unexpected codec ID",
    "Unknown codec ID",
  ]

  private static let noMemory = ["allocate", "No memory", "Out of memory", "no memory"]

  init(_ text: String) {
    self.text = text.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  /// Whether it is about bytes before a member, and not about the member.
  var isGap: Bool { text.hasPrefix("Skipped ") }

  var meaning: Meaning {
    if Self.noMemory.contains(where: text.contains) { return .noMemory }
    if Self.conversions.contains(where: text.contains) { return .harmless }
    if Self.unsupported.contains(where: text.contains) { return .unsupported }
    return .damage
  }

  /// The error to report.
  var error: BatchError {
    switch meaning {
    case .noMemory: .noCodecMemory
    case .unsupported: BatchError(.unsupported, "unsupported: \(text)")
    case .damage, .harmless: BatchError(.malformed, "damaged: \(text)")
    }
  }
}
