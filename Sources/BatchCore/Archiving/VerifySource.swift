/// What a verification goes over: the segments of an archive that has an index, else its members in turn.
public struct VerifySource: BatchSource {
  /// One step of a verification.
  public struct Item: Sendable {
    enum Step: Sendable {
      case segment(IndexedArchive, MemberIndex.Group)
      /// What lies between the members and the index.
      case end(IndexedArchive)
      /// A member whose content was read to its end.
      case read(PathBytes)
      case unreadable(PathBytes?, BatchError)
    }

    let step: Step
  }

  private enum Way {
    case segments(IndexedArchive, ArraySlice<MemberIndex.Group>)
    case members(ArchiveReader)
  }

  private let archive: ArchiveFile
  private let verification: Verification
  private var way: Way
  private var isAtEnd = false

  /// - Throws: `malformed` when the file is no archive.
  public init(_ archive: ArchiveFile, _ verification: Verification) throws(BatchError) {
    self.archive = archive
    self.verification = verification
    let finding = try IndexedArchive.find(in: archive)
    switch finding {
    case .found(let indexed, let remarks):
      way = .segments(indexed, indexed.index.groups[...])
      verification.begin(indexed)
      remarks.forEach { verification.damaged($0) }
      return
    case .damaged(let error, _): verification.damaged(error.message)
    case .none: break
    }
    let content = try FileContent(archive, upTo: finding.end)
    let start = Array(content.start.prefix(CompressionFormat.detectionLength))
    way = .members(try ArchiveReader(content, name: archive.path, limits: ArchiveLimits()))
    verification.begin(format: content.format, start: start)
  }

  public mutating func next() throws(BatchError) -> Item? {
    guard !isAtEnd else { return nil }
    do throws(BatchError) {
      try archive.cancellation.check()
      switch way {
      case .segments(let indexed, var groups):
        if let group = groups.popFirst() {
          way = .segments(indexed, groups)
          return Item(step: .segment(indexed, group))
        }
        isAtEnd = true
        return Item(step: .end(indexed))
      case .members(let reader):
        if let item = try next(of: reader) { return item }
        isAtEnd = true
        return nil
      }
    } catch {
      isAtEnd = true
      try archive.cancellation.check()
      return Item(step: .unreadable(nil, error))
    }
  }

  private func next(of reader: ArchiveReader) throws(BatchError) -> Item? {
    switch try reader.next() {
    case nil:
      try reader.drain()
      verification.end(reader)
      return nil
    case .unusable(let error): return Item(step: .unreadable(error.path, error))
    case .entry(let entry):
      do throws(BatchError) {
        try reader.readContent { _, _ in }
      } catch {
        try archive.cancellation.check()
        return Item(step: .unreadable(entry.path, error.at(entry.path)))
      }
      return Item(step: .read(entry.path))
    }
  }

  public func weight(of item: Item) -> Int64 {
    guard case .segment(let indexed, let group) = item.step else { return 0 }
    return indexed.index.weight(of: group)
  }

  public func count(of item: Item) -> Int {
    switch item.step {
    case .segment(_, let group): group.members.count
    case .end: 0
    case .read, .unreadable: 1
    }
  }

  public func retained(by item: Item) -> Int64 { 512 }
}
