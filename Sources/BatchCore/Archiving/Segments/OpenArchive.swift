import BatchEngine

/// An archive that is read with its index if it has a usable one, otherwise from its beginning to its end.
struct OpenArchive {
  let file: ArchiveFile
  /// Nil for an archive that is read from its beginning.
  let index: IndexedArchive?
  /// Why an existing index is not used: `malformed` if it is damaged, otherwise it needs too much memory.
  let unusedIndex: BatchError?
  /// Remarks about the index, or why it is not used.
  let remarks: [String]
  let right: ReadingRight
  /// Where the members end, if that is before the end of the file.
  private let end: UInt64?

  /// Searches an index.
  ///
  /// - Parameters:
  ///   - checks: whether digests and header checksums of the index are needed; they are most of it.
  ///   - memory: memory for the index, in bytes.
  /// - Throws: the error of reading.
  init(_ file: ArchiveFile, checks: Bool, memory: Int, by right: ReadingRight) throws(BatchError) {
    self.file = file
    self.right = right
    switch try IndexedArchive.find(in: file, checks: checks, memory: memory, by: right) {
    case .none: (index, unusedIndex, remarks, end) = (nil, nil, [], nil)
    case .found(let indexed, let found): (index, unusedIndex, remarks, end) = (indexed, nil, found, nil)
    case .unusable(let error, let start):
      (index, unusedIndex, remarks, end) = (nil, error, [error.message], start)
    }
  }

  /// The content from the beginning to the end of the members. A stream can be read only once.
  func content() throws(BatchError) -> FileContent { try FileContent(file, upTo: end, by: right) }

  /// Reads the members from the beginning, even if there is an index.
  ///
  /// - Throws: `malformed` when the file is not an archive.
  func reader(limits: ArchiveLimits) throws(BatchError) -> any MemberReader {
    guard case .process(let program) = file.foreignFormats else { return try readerHere(limits) }
    // A stream can be read by only one process.
    if file.size != nil, let reader = try readerOfUsualFormat(limits) { return reader }
    return try ForeignReader(
      file, program, upTo: end, requiresMembers: requiresMembers, limits: limits, by: right)
  }

  /// - Returns: nil if the archive may have one of the formats that a separate process reads.
  private func readerOfUsualFormat(_ limits: ArchiveLimits) throws(BatchError) -> ArchiveReader? {
    do throws(BatchError) {
      let reader = try readerHere(limits)
      // An ISO image begins with zeros.
      return reader.beginsWithZero ? nil : reader
    } catch {
      guard error.remedy == .readAllFormats || error.message == ArchiveReader.unknownFormat else {
        throw error
      }
      return nil
    }
  }

  /// Decides which texts of a selection are names, if the archive can be read a second time.
  ///
  /// - Parameter usesIndex: whether the names may come from the index.
  func decided(
    _ selection: MemberSelection, usesIndex: Bool = true, limits: ArchiveLimits
  ) throws(BatchError) -> MemberSelection {
    guard selection.isAmbiguous, file.size != nil else { return selection }
    var search = MemberSelection.NameSearch(selection)
    if usesIndex, let index {
      try index.index.forEachMember(file.cancellation) { _, member in
        search.look(at: member.path, isDirectory: member.kind == .directory)
      }
      return selection.decided(by: search)
    }
    do throws(BatchError) {
      let reader = try reader(limits: limits)
      while !search.isComplete, let member = try reader.next() {
        try file.cancellation.check()
        guard case .entry(let entry) = member else { continue }
        search.look(at: entry.path, isDirectory: entry.kind == .directory)
      }
    } catch {
      // The following read reports the errors.
      try file.cancellation.check()
    }
    return selection.decided(by: search)
  }

  private func readerHere(_ limits: ArchiveLimits) throws(BatchError) -> ArchiveReader {
    let content = try content()
    let reader = try ArchiveReader(
      content, name: file.path, requiresMembers: requiresMembers, limits: limits, by: right)
    // Without a known place of the index, bytes are left after the end, which is damage too.
    if end != nil, unusedIndex?.code == .malformed, content.format == nil {
      reader.remarks.append(ArchiveReader.uncheckedRemark)
    }
    return reader
  }

  /// Whether an index shows that there are members.
  private var requiresMembers: Bool { unusedIndex != nil || index.map { $0.index.count > 0 } ?? false }
}
