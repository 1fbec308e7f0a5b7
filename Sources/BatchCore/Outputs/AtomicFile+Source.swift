import BatchEngine

extension AtomicFile {
  /// Opens the output of a source.
  ///
  /// Where it is brought to the disk before it gets its name it has a temporary one meanwhile; otherwise it needs none.
  convenience init(
    outputOf source: FileStatus, at target: PathBytes, in folder: OpenFolder, replacing: Bool,
    isSynced: Bool
  ) throws(BatchError) {
    try self.init(
      at: target, in: folder, replacing: replacing,
      // What may not be written takes no attributes; the mode comes after them.
      unnamedWith: isSynced ? nil : source.mode & 0o777 | 0o200)
  }
}

extension AtomicFile.Metadata {
  /// Mode, owner and modification time of a source; of the owner only the group where this process may not give
  /// files away.
  init(of source: FileStatus) {
    self.init(
      permissions: source.mode & 0o777, owner: Self.owner(of: source),
      times: Times(accessed: source.modified, modified: source.modified))
    removesForeignList = true
  }

  /// The owner of a source's folder, and permissions of its own.
  init(ofFolder source: FileStatus, permissions: UInt32) {
    self.init(permissions: permissions, owner: Self.owner(of: source))
  }

  private static func owner(of source: FileStatus) -> Owner {
    StandardStreams.isRoot ? Owner(user: source.owner, group: source.group) : Owner(group: source.group)
  }
}

/// Lends the bytes of an array, with the error type of the caller.
package func withBytes<Result>(
  of bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(BatchError) -> Result
) throws(BatchError) -> Result {
  var failure: BatchError?
  let result: Result? = bytes.withUnsafeBytes { raw in
    do throws(BatchError) {
      return try body(raw)
    } catch {
      failure = error
      return nil
    }
  }
  if let failure { throw failure }
  guard let result else { preconditionFailure("there is a result or an error") }
  return result
}
