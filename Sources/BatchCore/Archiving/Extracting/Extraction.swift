import BatchEngine

/// The summary of an ``ExtractJob``, in addition to its counts.
package struct Extraction: Sendable {
  /// A fact about the whole archive, at the place in its order where it became known.
  enum Note: Sendable {
    /// Remarks about the archive that did not prevent reading any member.
    case remarks([String])
    /// Absolute names were made relative.
    case strippedSlash
    /// Patterns that no member matched; only if all members were examined.
    case unmatched([UnmatchedGlob])
    /// No later member is extracted.
    case stop
  }

  package internal(set) var archive = ArchiveFindings()
  package internal(set) var strippedSlash = false
  /// How many members were created without privileges that only an option restores.
  package internal(set) var madeSafe = 0
  /// How many members were created without an owner or a time, because the archive has an impossible value.
  package internal(set) var misdescribed = 0
  /// How many members could not be given the owner that was requested.
  package internal(set) var withoutOwner = 0
  /// How many paths were removed that the snapshot does not have.
  package internal(set) var removed = 0
  /// Why nothing was removed; nil if that was not requested.
  package internal(set) var refusal: BatchError?
  /// Why the files could not be synced to the disk; nil if they were.
  package internal(set) var failure: BatchError?
  private var reported: EntryMetadata.Losses = []

  mutating func add(_ note: Note) {
    switch note {
    case .remarks(let texts): archive.remarks += texts
    case .strippedSlash: strippedSlash = true
    case .unmatched(let globs): archive.unmatched = globs
    case .stop: archive.isCutShort = true
    }
  }

  /// The warnings about metadata that could not be set: for every member if safety is concerned, otherwise once.
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
          "the archive has no valid number for its owner: it belongs to the user who extracts, without setuid and setgid",
          path: path))
    }
    if losses.contains(.timeRange) {
      misdescribed += 1
      warnings.append(
        BatchError(
          .malformed, "the archive has no possible time for it: not restored",
          path: path))
    }
    if losses.contains(.owner) { withoutOwner += 1 }
    if losses.contains(.timeLimit) {
      misdescribed += 1
      warnings.append(
        BatchError(
          .unwritable,
          "the file system cannot store its time: it has the nearest one, or that of the restore", path: path)
      )
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
