import BatchEngine

/// The first name of a file that has several, and its output.
package final class LinkedSource: Sendable {
  package let record: FileRecord
  /// The status of the file when it was read.
  package let read: FileStatus
  /// The inode of the output; nil without one.
  package let output: FileIdentity?
  /// Whether the output was read back and compared.
  package let isProved: Bool
  package let isCopy: Bool

  private init(
    _ record: FileRecord, _ read: FileStatus, output: FileIdentity?, isProved: Bool, isCopy: Bool
  ) {
    self.record = record
    self.read = read
    self.output = output
    self.isProved = isProved
    self.isCopy = isCopy
  }

  /// - Parameter output: the inode of an up-to-date output.
  /// - Returns: nil for a file with one name.
  package static func of(
    _ record: FileRecord, output: FileIdentity? = nil, isCopy: Bool = false
  ) -> LinkedSource? {
    guard record.status.linkCount > 1 else { return nil }
    return LinkedSource(record, record.status, output: output, isProved: false, isCopy: isCopy)
  }

  /// - Returns: the source of a staged output; nil if it has one name.
  package static func of(_ staged: StagedOutput, isCopy: Bool = false) -> LinkedSource? {
    guard staged.source.status.linkCount > 1 else { return nil }
    return LinkedSource(
      staged.source, staged.read, output: staged.identity, isProved: staged.isProved,
      isCopy: isCopy)
  }
}

/// A further name of a file whose first name came earlier in the tree.
package final class HardLinkItem: Sendable {
  package let record: FileRecord
  package let target: PathBytes
  package let first: FirstLink
  /// Whether a copy of it would have the name of another source's output.
  let hasRival: Bool

  package init(_ record: FileRecord, target: PathBytes, first: FirstLink, hasRival: Bool = false) {
    self.record = record
    self.target = target
    self.first = first
    self.hasRival = hasRival
  }
}

extension FirstLink {
  /// Whether a further name is a name of this file.
  ///
  /// The first name in a plan may have been removed since, by another run or by one that was killed later.
  package func leads(_ further: FileRecord, _ folders: FolderOpener) -> Bool {
    guard further.isPlanned else { return true }
    do throws(BatchError) {
      return try folders.status(of: record.path).identity.inode == record.status.identity.inode
    } catch {
      // If it cannot be examined, it fails, and so does the further name.
      return !error.isNotFound && !error.isNoFolder
    }
  }
}

/// The first name of a file with several names, and its output.
package struct FirstLink: Sendable {
  package let record: FileRecord
  package let target: PathBytes

  package init(record: FileRecord, target: PathBytes) {
    self.record = record
    self.target = target
  }
}
