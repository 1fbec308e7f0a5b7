/// What a list of an archive is made from: its members, one after the other.
public struct MemberListSource: BatchSource {
  /// One step of the list.
  public enum Item: Sendable {
    case member(ListedMember)
    /// Those of an index that stand side by side.
    case members(IndexSlice)
    case problem(BatchError)
  }

  /// Members of one step, where they come from an index: a step costs more than a row.
  private static let sliceLength = 256

  private let archive: ArchiveFile
  private let index: MemberIndex?
  private let reader: ArchiveReader?
  private let digests: DigestStream?
  private let end: ArchiveEnd
  private var isAtEnd = false
  private var number = 0

  /// - Parameters:
  ///   - details: whether more is asked for than an index holds: modes, owners, what links lead to.
  ///   - digests: whether the SHA-256 of contents is asked for.
  ///   - usesIndex: whether an index is believed; without it the members are those that any reader finds.
  ///   - end: told how the archive ended.
  /// - Throws: `malformed` when the file is no archive.
  public init(
    _ archive: ArchiveFile, details: Bool, digests: Bool, usesIndex: Bool = true,
    limits: ArchiveLimits = ArchiveLimits(), end: ArchiveEnd
  ) throws(BatchError) {
    self.archive = archive
    self.end = end
    let finding = try IndexedArchive.find(in: archive, checks: digests)
    if usesIndex, !details, case .found(let indexed, let remarks) = finding {
      index = indexed.index
      reader = nil
      self.digests = nil
      end.note(remarks: remarks)
    } else {
      if case .damaged(let error, _) = finding { end.note(remarks: [error.message]) }
      index = nil
      let content = try FileContent(archive, upTo: finding.end)
      reader = try ArchiveReader(content, name: archive.path, limits: limits)
      self.digests = digests ? try DigestStream(.sha256) : nil
    }
  }

  public mutating func next() throws(BatchError) -> Item? {
    guard !isAtEnd else { return nil }
    if let index {
      guard number < index.count else { return nil }
      let end = min(number + Self.sliceLength, index.count)
      defer { number = end }
      return .members(IndexSlice(index: index, numbers: number..<end))
    }
    guard let reader else { return nil }
    do throws(BatchError) {
      try archive.cancellation.check()
      switch try reader.next() {
      case .unusable(let error): return .problem(error)
      case .entry(let entry): return try item(of: entry, reader)
      case nil:
        isAtEnd = true
        try reader.drain()
        end.note(remarks: reader.remarks)
        return nil
      }
    } catch {
      isAtEnd = true
      try archive.cancellation.check()
      end.cutShort()
      return .problem(error)
    }
  }

  private func item(of entry: ArchiveEntry, _ reader: ArchiveReader) throws(BatchError) -> Item {
    guard let digests, entry.kind == .file else { return .member(ListedMember(entry)) }
    digests.reset()
    let content = ContentDigest(digests, cancellation: archive.cancellation)
    do throws(BatchError) {
      try reader.readContent { (piece, offset) throws(BatchError) in try content.add(piece, at: offset) }
      return .member(ListedMember(entry, digest: try content.finish(size: entry.size)))
    } catch {
      if error.code == .exhausted || error.code == .cancelled { throw error }
      return .problem(error.at(entry.path))
    }
  }

  public func weight(of item: Item) -> Int64 { 0 }

  public func count(of item: Item) -> Int {
    if case .members(let slice) = item { slice.numbers.count } else { 1 }
  }

  public func retained(by item: Item) -> Int64 { 512 }
}
