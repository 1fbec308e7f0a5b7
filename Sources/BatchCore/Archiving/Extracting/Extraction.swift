import BatchEngine

/// The summary of an ``ExtractJob``, beside its counts.
package struct Extraction: Sendable {
  /// One thing that is known of the whole archive, at the place in its order where it became known.
  enum Note: Sendable {
    /// What is odd about the archive, and did not keep a member from being read.
    case remarks([String])
    /// Absolute names were made relative.
    case strippedSlash
    /// Patterns that no member matched; only where all members were looked at.
    case unmatched([UnmatchedGlob])
    /// Nothing behind this is extracted.
    case stop
  }

  package internal(set) var remarks: [String] = []
  package internal(set) var strippedSlash = false
  package internal(set) var unmatched: [UnmatchedGlob] = []
  /// Whether the extraction ended before the archive did.
  package internal(set) var isCutShort = false
  /// Whether a part of the archive is damaged, also where members behind it were extracted.
  package internal(set) var isDamaged = false
  /// How many members were made without rights that only an option grants.
  package internal(set) var madeSafe = 0
  /// How many members were made without an owner or a time, since the archive has numbers that cannot be.
  package internal(set) var misdescribed = 0
  /// Why what was written could not be brought to the disk; nil when it was.
  package internal(set) var failure: BatchError?
  private var reported: EntryMetadata.Losses = []

  init() {}

  mutating func add(_ note: Note) {
    switch note {
    case .remarks(let texts): remarks += texts
    case .strippedSlash: strippedSlash = true
    case .unmatched(let globs): unmatched = globs
    case .stop: isCutShort = true
    }
  }

  /// What is to be said of what could not be set: of each member where it is about safety, else once.
  mutating func warnings(of losses: EntryMetadata.Losses, path: PathBytes) -> [BatchError] {
    guard !losses.isEmpty else { return [] }
    var warnings = [BatchError]()
    if losses.contains(.privileges) {
      madeSafe += 1
      warnings.append(
        BatchError(
          .special, "made without its privileges: setuid, setgid, or attributes of the system", path: path,
          remedy: .restorePrivileges))
    }
    if losses.contains(.ownerNumber) {
      misdescribed += 1
      warnings.append(
        BatchError(
          .malformed,
          "the archive has no possible number for its owner: it stays that of who extracts, without setuid and setgid",
          path: path))
    }
    if losses.contains(.timeRange) {
      misdescribed += 1
      warnings.append(
        BatchError(
          .malformed, "the archive has no possible time for it: not restored",
          path: path))
    }
    let texts: [(EntryMetadata.Losses, String)] = [
      (.owner, "owners could not be restored"), (.mode, "modes could not be restored"),
      (.attributes, "extended attributes could not be restored"), (.time, "times could not be restored"),
    ]
    for (loss, text) in texts where losses.contains(loss) && !reported.contains(loss) {
      reported.insert(loss)
      warnings.append(BatchError(.unwritable, "some \(text), here and maybe elsewhere", path: path))
    }
    return warnings
  }
}
