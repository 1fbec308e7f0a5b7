import BatchEngine

/// An archive that is read by its index where it has one that can be used, else from its beginning to its end.
struct OpenArchive {
  let file: ArchiveFile
  /// Nil for an archive that is read from its beginning.
  let index: IndexedArchive?
  /// Why an index that is there is not used: `malformed` when it is damaged, else it needs too much memory.
  let unusedIndex: BatchError?
  /// What is odd about the index, or keeps it from being used.
  let remarks: [String]
  /// Where the members end before the file does.
  private let end: UInt64?

  /// Looks for an index.
  ///
  /// - Parameters:
  ///   - checks: whether digests and header checks of the index are wanted; they are most of it.
  ///   - memory: what the index may take, in bytes.
  /// - Throws: what reading throws.
  init(_ file: ArchiveFile, checks: Bool, memory: Int) throws(BatchError) {
    self.file = file
    switch try IndexedArchive.find(in: file, checks: checks, memory: memory) {
    case .none: (index, unusedIndex, remarks, end) = (nil, nil, [], nil)
    case .found(let indexed, let found): (index, unusedIndex, remarks, end) = (indexed, nil, found, nil)
    case .unusable(let error, let start):
      (index, unusedIndex, remarks, end) = (nil, error, [error.message], start)
    }
  }

  /// The content from the beginning to the end of the members. Of a stream there is one.
  func content() throws(BatchError) -> FileContent { try FileContent(file, upTo: end) }

  /// Reads the members from the beginning, also where there is an index.
  ///
  /// - Throws: `malformed` when the file is no archive.
  func reader(limits: ArchiveLimits) throws(BatchError) -> ArchiveReader {
    try reader(of: try content(), limits: limits)
  }

  /// The same, of content that ``content()`` returned.
  func reader(of content: FileContent, limits: ArchiveLimits) throws(BatchError) -> ArchiveReader {
    let hasMembers = unusedIndex != nil || index.map { $0.index.count > 0 } ?? false
    return try ArchiveReader(content, name: file.path, requiresMembers: hasMembers, limits: limits)
  }
}
