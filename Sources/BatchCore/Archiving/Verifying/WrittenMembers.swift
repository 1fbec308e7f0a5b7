import BatchEngine

/// Reads a container without segments (cpio, zip, 7z), and compares each member with the one that was written.
///
/// It compares name, kind, size and digest; the formats differ in which other fields they store.
final class WrittenMembers {
  private let reader: ArchiveReader
  private var cursor: IndexCursor
  private let digests: DigestStream
  private let cancellation: Cancellation
  /// Members that are stored in the order in which they were written.
  private var order: ArraySlice<Int>
  /// Members that are stored after these in another order, by name, and whether each was found.
  private var others: [PathBytes: (number: Int, isFound: Bool)] = [:]

  /// - Throws: `malformed` when the file is not an archive.
  init(_ archive: ArchiveFile, _ written: WrittenArchive, by right: ReadingRight) throws(BatchError) {
    let index = written.index
    cursor = IndexCursor(index)
    cancellation = archive.cancellation
    digests = try DigestStream(.sha256)
    reader = try ArchiveReader(
      try FileContent(archive, by: right), name: archive.path, limits: ArchiveLimits(), by: right)
    order = [][...]
    guard written.format.container == .sevenZip else {
      order = Array(0..<index.count)[...]
      return
    }
    // 7z stores empty members after the others, and each folder only once.
    for number in 0..<index.count {
      let member = try member(number)
      if member.kind == .symbolicLink || member.size > 0 {
        order.append(number)
      } else {
        others[member.path] = (number, false)
      }
    }
  }

  /// Yields each member that was read, or its error.
  ///
  /// - Throws: `malformed` if the archive cannot be read further, or ends too early or too late.
  func read(in context: VerifyReader.Context) throws(BatchError) {
    while let member = try reader.next() {
      guard let number = number(of: member) else {
        throw BatchError(.malformed, "it has more members than were archived")
      }
      let expected = try self.member(number)
      var step = VerifyReader.Item.Step.read(expected.path)
      do throws(BatchError) {
        guard case .entry(let entry) = member else { throw BatchError(.malformed, "it cannot be read") }
        try compare(entry, with: expected, in: context)
      } catch {
        try context.checkCancellation()
        step = .unreadable(expected.path, error.at(expected.path))
      }
      try context.yield(.item(VerifyReader.Item(step: step)))
    }
    try reader.drain()
    if let missing = order.first ?? others.values.filter({ !$0.isFound }).map(\.number).min() {
      throw BatchError(.malformed, "it ends before a member", path: try member(missing).path)
    }
  }

  private func member(_ number: Int) throws(BatchError) -> ArchivedMember {
    try cursor.slice(number..<(number + 1))[number]
  }

  private func number(of member: ArchiveReader.Member) -> Int? {
    if let number = order.popFirst() { return number }
    guard case .entry(let entry) = member, let found = others[entry.path] else { return nil }
    others[entry.path] = (found.number, true)
    return found.number
  }

  private func compare(
    _ entry: ArchiveEntry, with expected: ArchivedMember, in context: VerifyReader.Context
  ) throws(BatchError) {
    guard entry.path == expected.path else {
      throw BatchError(.malformed, "another member is in its place")
    }
    guard entry.kind == expected.kind else { throw BatchError(.malformed, "wrong kind") }
    guard entry.kind == .file else { return }
    let digest = ContentDigest(digests, cancellation: cancellation)
    let size = try reader.readContent(into: digest) { (count) throws(BatchError) in
      try context.checkCancellation()
      context.count(bytes: count)
    }
    guard size == expected.size else { throw BatchError(.malformed, "wrong size") }
    guard try digest.finish(size: size) == expected.digest else {
      throw BatchError(.malformed, "wrong SHA-256")
    }
  }
}
