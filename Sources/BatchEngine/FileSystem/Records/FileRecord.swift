/// One regular file that a walk found: its folder, its name, and its status.
public struct FileRecord: Sendable {
  package let directory: DirectoryPath
  /// The status that the walk read; the file may have changed since.
  public let status: FileStatus
  /// Whether links may be followed to reach the file: it was named as an operand, or the walk follows links.
  package let followsLinks: Bool
  /// The names of all entries of the folder; for an operand only its own name.
  package let names: NameArena
  private let nameOffset: Int
  /// Whether the status was recorded by an earlier run: a file that differs now then counts as changed.
  package let isPlanned: Bool
  private static let ordinaryPathLength = 1024

  package init(
    directory: DirectoryPath, names: NameArena, nameOffset: Int, status: FileStatus, followsLinks: Bool,
    isPlanned: Bool = false
  ) {
    self.directory = directory
    self.names = names
    self.nameOffset = nameOffset
    self.status = status
    self.followsLinks = followsLinks
    self.isPlanned = isPlanned
  }

  /// The same file with another status.
  package func with(_ status: FileStatus) -> FileRecord {
    FileRecord(
      directory: directory, names: names, nameOffset: nameOffset, status: status, followsLinks: followsLinks,
      isPlanned: isPlanned)
  }

  /// The path as it is shown and stored: the operand as it was given, then the names below it.
  public var path: PathBytes {
    names.withName(at: nameOffset) { name in
      var bytes = [UInt8]()
      bytes.reserveCapacity(directory.prefixLength + name.count)
      directory.appendPrefix(to: &bytes)
      bytes.append(contentsOf: name)
      return PathBytes(bytes)
    }
  }

  /// Whether the file was named as an operand, and not found in a folder.
  package var isOperand: Bool { directory.identity == nil }

  /// The bytes of the path beyond an ordinary length, to limit the memory for paths. 0 for ordinary paths, so that only the
  /// contents of files count in the plan.
  package var excessPathLength: Int64 { Int64(max(0, directory.prefixLength - Self.ordinaryPathLength)) }

  /// Appends the bytes of ``path`` without creating it.
  public func appendPath(to bytes: inout [UInt8]) {
    directory.appendPrefix(to: &bytes)
    names.withName(at: nameOffset) { bytes.append(contentsOf: $0) }
  }

  /// Appends the last part of ``path``, which is empty if the record is a folder itself.
  package func appendName(to bytes: inout [UInt8]) {
    names.withName(at: nameOffset) { bytes.append(contentsOf: $0) }
  }

  package func withName<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    names.withCString(at: nameOffset, body)
  }

  /// The target of a symbolic link.
  ///
  /// - Parameter folder: the descriptor of the folder that contains the link.
  /// - Throws: the error of `readlinkat(2)`, without the path.
  package func linkTarget(in folder: Int32) throws(BatchError) -> PathBytes {
    let target = withName { name in
      Result { () throws(BatchError) in try LinkTarget.read(name, in: folder) }
    }
    return try target.get()
  }
}

extension FileStatus {
  /// - Throws: `changed` when this is not the status that the walk read.
  package func requireContent(of record: FileRecord) throws(BatchError) {
    guard !hasSameContent(as: record.status) else { return }
    throw BatchError(.changed, "changed while it was read", path: record.path)
  }
}
