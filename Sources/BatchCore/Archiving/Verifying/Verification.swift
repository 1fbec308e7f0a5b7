import BatchEngine

/// The result of verifying an archive: the summary of a ``VerifyJob``.
package struct Verification: Sendable {
  /// A fact about the archive itself, at the place in its order where it became known.
  package enum Note: Sendable {
    case damage(String)
    /// What was checked, or could not be checked.
    case fact(String)
    /// Remarks that are not damage, but may mean a loss.
    case warning(String)
    case indexDigest(Digest)
    /// The reader reached the end. The fact is true only if no damage was found before.
    case end(complete: String)
  }

  /// The damage of the archive itself, each kind once, in the order of the archive.
  package private(set) var damage: [String] = []
  /// Remarks that are not damage, but may mean a loss, in sentences.
  package private(set) var warnings: [String] = []
  /// What was checked, and what could not be checked, in sentences.
  package private(set) var facts: [String] = []
  /// The SHA-256 of the index, which identifies the whole archive; nil without an index.
  package private(set) var indexDigest: Digest?
  package private(set) var damagedMembers = 0
  /// Members whose files changed while they were archived, including those with missing parts.
  package private(set) var changedMembers = 0
  package private(set) var incompleteMembers = 0
  private var differences: [Difference.Class: Int] = [:]
  private var known: Set<String> = []

  /// How many members have this difference from the folder.
  package func count(of kind: Difference.Class) -> Int { differences[kind] ?? 0 }

  /// Whether the archive is damaged, or differs from the folder.
  package var isDifferent: Bool { !damage.isEmpty || damagedMembers > 0 || !differences.isEmpty }

  mutating func add(_ note: Note) {
    switch note {
    case .damage(let text): if known.insert(text).inserted { damage.append(text) }
    case .fact(let text): facts.append(text)
    case .warning(let text): warnings.append(text)
    case .indexDigest(let digest): indexDigest = digest
    case .end(let complete): if damage.isEmpty { facts.append(complete) }
    }
  }

  mutating func count(_ finding: VerifyJob.Finding) {
    if finding.damage != nil { damagedMembers += 1 }
    if !finding.flags.isEmpty { changedMembers += 1 }
    if finding.flags.contains(.incomplete) { incompleteMembers += 1 }
    if let difference = finding.difference { differences[difference.kind, default: 0] += 1 }
  }
}

extension Verification.Note {
  /// Notes about an archive with an index, before its members are read.
  static func beginning(_ indexed: IndexedArchive) -> [Verification.Note] {
    let index = indexed.index
    let parts = index.hasFrameChecks ? "of \(index.frames.count) frames" : "header"
    var notes: [Verification.Note] = [
      .fact(
        "checked the checksum of each \(parts), the SHA-256 of every file, and the end of the archive"),
      .indexDigest(index.digest),
    ]
    // The index contains its own total.
    if index.memberBytes != index.totalBytes {
      notes.append(
        .damage("the index counts \(index.totalBytes) bytes, its members have \(index.memberBytes)"))
    }
    return notes
  }

  /// Notes about an archive without an index, after it was read to its end.
  static func end(of reader: any MemberReader) -> [Verification.Note] {
    // A file that may have been longer, or was not read completely, cannot be called complete.
    let doubtful = [
      ArchiveReader.moreRemark, ArchiveReader.garbageRemark, SevenZipChecks.behindRemark,
      ArchiveReader.loneBlockRemark, ArchiveReader.uncheckedRemark, TailBlock.damagedRemark,
    ]
    let doubts = reader.remarks.filter { doubtful.contains($0) }
    var notes = doubts.map { Verification.Note.damage($0) }
    notes.append(.end(complete: "it is complete to its end (\(reader.formatName))"))
    notes.append(.fact(reader.checksFact))
    notes.append(.fact("no index: contents were readable, but there are no SHA-256 digests to check"))
    return notes + reader.remarks.filter { !doubts.contains($0) }.map { .warning($0) }
  }
}
