import BatchEngine
import Synchronization

/// The properties of a file that must be equal in addition to its content.
struct FileTraits: Hashable {
  let device: UInt64
  let owner: UInt32
  let group: UInt32
  let mode: UInt32
  let attributes: [ExtendedAttribute]

  /// - Parameter hasAttributes: whether attributes count.
  init(_ file: Int32, _ status: FileStatus, hasAttributes: Bool) {
    device = status.identity.device
    owner = status.owner
    group = status.group
    mode = status.mode
    attributes = hasAttributes ? AttributeReader.attributes(of: file) : []
  }
}

/// The file of a group that stays, as it was when the copies were compared with it.
///
/// It stays open from the comparison until its copies are linked, if descriptors are free: then its inode number cannot become that
/// of another file. Without that it is opened again for each copy, and everything that is known about it is compared.
package final class KeptFile: Sendable {
  let file: DuplicateFile
  let traits: FileTraits
  private let held: HeldFile?
  /// The expected status. Each new name changes its status change time and link count.
  private let expected: Mutex<FileStatus>

  init(_ file: DuplicateFile, _ traits: FileTraits, _ status: FileStatus, held: HeldFile?) {
    self.file = file
    self.traits = traits
    self.held = held
    expected = Mutex(status)
  }

  /// Passes the open file to `body`.
  ///
  /// - Parameter open: opens the file if it is not open; not through a link.
  /// - Throws: `changed` when anything about the file is not as it was, with its path; the error of `open` or `body`.
  func withFile<Result>(
    hasAttributes: Bool, calls: any FileSystemCalls, open: () throws(BatchError) -> Descriptor,
    _ body: (Int32) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    if let held {
      try check(held.raw, hasAttributes: hasAttributes, calls)
      return try body(held.raw)
    }
    let opened = try open()
    try check(opened.raw, hasAttributes: hasAttributes, calls)
    return try body(opened.raw)
  }

  private func check(_ raw: Int32, hasAttributes: Bool, _ calls: any FileSystemCalls) throws(BatchError) {
    let now = try calls.status(of: raw)
    try now.requireContent(of: file.record)
    let expected = expected.withLock { $0 }
    // The temporary file that a killed run left may be a name of it; this run removes that before it makes others.
    let hasOnlyLostNames = now.linkCount > 0 && now.linkCount < expected.linkCount
    guard now.statusChanged == expected.statusChanged || hasOnlyLostNames,
      FileTraits(raw, now, hasAttributes: hasAttributes) == traits
    else {
      throw BatchError(
        .changed, "changed since it was compared, and no copy is linked to it", path: file.path)
    }
  }

  /// Records the status after this run gave the file a further name, or tried to.
  func noteLink(_ status: FileStatus) { expected.withLock { $0 = status } }
}
