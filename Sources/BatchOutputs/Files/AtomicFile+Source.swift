import BatchEngine

extension AtomicFile {
  /// Opens the output of a source.
  ///
  /// It has a temporary name if it is synced before the rename; otherwise it has no name yet.
  package convenience init(
    outputOf source: FileStatus, at target: PathBytes, in folder: OpenFolder, replacing: Bool,
    isSynced: Bool
  ) throws(BatchError) {
    try self.init(
      at: target, in: folder, replacing: replacing,
      // A read-only file takes no attributes, so the mode is set after them.
      unnamedWith: isSynced ? nil : source.mode & 0o777 | 0o200)
  }
}

extension AtomicFile.Metadata {
  /// Mode, owner and modification time of a source; only the group of the owner if this process may not change the user.
  ///
  /// - Parameter mark: by which a later run recognizes the output.
  package init(of source: FileStatus, mark: FileMark? = nil) {
    self.init(
      permissions: source.mode & 0o777, owner: Self.owner(of: source),
      times: Times(accessed: source.modified, modified: source.modified))
    removesForeignList = true
    self.mark = mark
  }

  /// The owner of a source's folder, with the given permissions.
  package init(ofFolder source: FileStatus, permissions: UInt32) {
    self.init(permissions: permissions, owner: Self.owner(of: source))
  }

  private static func owner(of source: FileStatus) -> Owner {
    StandardStreams.isRoot ? Owner(user: source.owner, group: source.group) : Owner(group: source.group)
  }
}
