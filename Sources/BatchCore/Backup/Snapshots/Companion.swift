import BatchEngine

/// The unencrypted facts about an encrypted snapshot, in a file beside its manifest: what removal, copying and verification
/// need without a key.
///
/// It gives no protection against a user who can write to the directory; with a key it is compared with the manifest.
package struct Companion: Sendable, Hashable {
  static let schema: UInt64 = 1
  static let largest = 1 << 20

  package let sequence: UInt64
  package let increment: UInt64
  package let isVerified: Bool
  /// Whether the run was cut before it had walked all sources.
  package let isCut: Bool
  /// Nil in companions of earlier versions, as the following two.
  package let failures: UInt64?
  package let machine: String?
  package let sourcesWord: String?
  /// The stamps of the archives that the snapshot needs.
  package let needs: Set<String>
  /// The archive; while a compacted one replaces it, the former one.
  package internal(set) var archive: StoredArchive
  /// The compacted archive that is about to get the name of ``archive``, or just got it; nil at other times.
  package internal(set) var replacement: StoredArchive?
  /// The archive before its first compaction; nil if it was not compacted.
  package internal(set) var origin: StoredArchive?
  /// Bytes of the files whose content the archive got first; nil in companions of earlier versions.
  package let contentBytes: UInt64?
  /// Size and digest of the encrypted manifest.
  package let manifestSize: UInt64
  package let manifestDigest: Digest

  init(
    _ header: SnapshotHeader, _ footer: SnapshotFooter, archive: (size: UInt64, digest: Digest),
    manifest: (size: UInt64, digest: Digest)
  ) {
    sequence = header.sequence
    increment = header.increment
    isVerified = footer.isVerified
    isCut = footer.isCut
    failures = footer.failures
    machine = header.machine
    sourcesWord = header.sourcesWord
    needs = Set(footer.needs.keys)
    self.archive = StoredArchive(size: archive.size, digest: archive.digest)
    contentBytes = footer.needs[header.name.stamp]?.bytes ?? 0
    (manifestSize, manifestDigest) = manifest
  }

  /// Two lines: the facts, and the digest of the first line.
  func bytes() throws(BatchError) -> [UInt8] {
    var line = [UInt8]()
    JSONLine.append("companion", to: &line) { line in
      line.add("schema", Self.schema)
      line.add("sequence", sequence)
      line.add("increment", increment)
      line.add("verified", isVerified)
      if isCut { line.add("complete", false) }
      if let failures { line.add("failures", failures) }
      if let machine { line.add("machine", machine) }
      if let sourcesWord { line.add("sources_word", sourcesWord) }
      archive.append(as: "archive", to: &line)
      replacement?.append(as: "replacement", to: &line)
      origin?.append(as: "original", to: &line)
      if let contentBytes { line.add("content_bytes", contentBytes) }
      line.add("manifest_size", manifestSize)
      line.add("manifest_sha256", manifestDigest.hex)
      line.add("needs", needs.sorted().joined(separator: " "))
    }
    return line + Array(#"{"type":"end","sha256":"\#(try Digest.sha256(of: line).hex)"}"#.utf8) + [
      UInt8(ascii: "\n")
    ]
  }

  /// - Throws: the error of reading it; `malformed` when it is not valid.
  package static func read(_ path: PathBytes) throws(BatchError) -> Companion {
    let content = try SmallFile.readRegular(path, limit: largest)
    do throws(BatchError) {
      return try Companion(content)
    } catch {
      throw error.at(path)
    }
  }

  /// - Throws: `malformed` for invalid content; `unsupported` for a later schema.
  init(_ content: [UInt8]) throws(BatchError) {
    let newline = UInt8(ascii: "\n")
    guard let end = content.firstIndex(of: newline), content.last == newline, content.count > end + 1,
      !content[(end + 1)...].dropLast().contains(newline)
    else { throw Self.malformed }
    let last: SnapshotLine
    let line: SnapshotLine
    do throws(BatchError) {
      last = try SnapshotLine(Array(content[(end + 1)...].dropLast()))
      line = try SnapshotLine(Array(content[..<end]))
      guard last.text("type") == "end", line.text("type") == "companion",
        last.text("sha256") == (try Digest.sha256(of: Array(content[...end]))).hex
      else { throw Self.malformed }
      guard try line.number("schema") == Self.schema else {
        throw BatchError(.unsupported, "a later version of this program wrote the companion of the manifest")
      }
      sequence = try line.number("sequence")
      increment = try line.number("increment")
      isVerified = line.isTrue("verified")
      isCut = line.has("complete") && !line.isTrue("complete")
      failures = line.has("failures") ? try line.number("failures") : nil
      machine = try line.word("machine")
      sourcesWord = try line.word("sources_word")
      replacement = try StoredArchive(line, "replacement")
      origin = try StoredArchive(line, "original")
      contentBytes = line.has("content_bytes") ? try line.number("content_bytes", below: .max) : nil
      manifestSize = try line.number("manifest_size")
      let needs = (line.text("needs") ?? "").split(separator: " ").map(String.init)
      guard let archive = try StoredArchive(line, "archive"), let manifest = line.digest("manifest_sha256"),
        needs.allSatisfy({ LocalTime.seconds(ofStamp: $0.utf8) != nil })
      else { throw Self.malformed }
      self.needs = Set(needs)
      self.archive = archive
      manifestDigest = manifest
    } catch {
      throw error.code == .malformed ? Self.malformed : error
    }
  }

  private static let malformed = BatchError(
    .malformed, "the companion of an encrypted manifest is damaged")

  // MARK: The archive

  /// The archives that may have the name now.
  package var archives: [StoredArchive] { [archive] + [replacement].compactMap { $0 } }

  /// The recorded archive of a size; nil if it records none of this size.
  package func archive(ofSize size: UInt64) -> StoredArchive? { archives.last { $0.size == size } }

  /// Before a compacted archive gets the name.
  func replacing(by compacted: StoredArchive) -> Companion {
    var companion = self
    companion.replacement = compacted
    return companion
  }

  /// After the replacement, or after it was interrupted.
  ///
  /// - Parameter found: the archive that has the name.
  func settled(on found: StoredArchive) -> Companion {
    var companion = self
    if found == replacement { companion.origin = origin ?? archive }
    (companion.archive, companion.replacement) = (found, nil)
    return companion
  }

  // MARK: The snapshot

  /// The header, as far as it is known without a key.
  func header(of name: SnapshotName) -> SnapshotHeader {
    SnapshotHeader(
      name: name, sequence: sequence,
      started: FileStatus.Time(seconds: LocalTime.seconds(ofStamp: name.stamp.utf8) ?? 0, nanoseconds: 0),
      increment: increment, machine: machine, sourcesWord: sourcesWord)
  }

  /// The footer, as far as it is known without a key.
  var footer: SnapshotFooter {
    var footer = SnapshotFooter()
    for stamp in needs { footer.needs[stamp] = SnapshotFooter.Need() }
    footer.archiveSize = archive.size
    footer.isVerified = isVerified
    footer.isCut = isCut
    footer.failures = failures
    return footer
  }

  func agrees(with header: SnapshotHeader, _ footer: SnapshotFooter) -> Bool {
    sequence == header.sequence && increment == header.increment && isVerified == footer.isVerified
      && isCut == footer.isCut
      && needs == Set(footer.needs.keys) && archive.size == footer.archiveSize && failures == footer.failures
      && machine == header.machine && sourcesWord == header.sourcesWord
  }
}

extension StoredArchive {
  fileprivate func append(as name: String, to line: inout JSONLine) {
    line.add("\(name)_size", size)
    line.add("\(name)_sha256", digest.hex)
  }

  /// - Returns: nil if the companion does not record it.
  /// - Throws: `malformed` if only one of its members is there, or not possible.
  fileprivate init?(_ line: SnapshotLine, _ name: String) throws(BatchError) {
    guard line.has("\(name)_size") || line.has("\(name)_sha256") else { return nil }
    let size = try line.number("\(name)_size")
    guard let digest = line.digest("\(name)_sha256") else { throw SnapshotLine.malformed }
    self.init(size: size, digest: digest)
  }
}
