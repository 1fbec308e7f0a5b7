import BatchEngine
import Synchronization

/// A file that appears under its name complete or not at all.
///
/// It is written under a temporary name, or none, in the target's own folder, and named by ``commit(_:syncing:)``.
/// Until then the target is what it was. The temporary file is removed when anything fails, when this
/// object is let go of, and by ``AtomicFileRegistry/removeAll()``; after a `kill -9`
/// ``StaleTemporaries`` finds it, because a living one is locked with `flock(2)`.
///
/// Holds two descriptors from start to end, the folder's, which it may share, and the file's, and for a moment
/// of the commit a third if there is one to have. Calls from several threads take turns.
package final class AtomicFile: Sendable {
  /// The path as it was given, which every error names.
  package let target: PathBytes
  /// Nil when committed, discarded or failed.
  private let output: Mutex<AtomicFileOutput?>

  /// Opens the temporary file.
  ///
  /// - Parameters:
  ///   - target: its folder must exist; links on the way to the folder are followed.
  ///   - replacing: whether a file or symbolic link that has the name gives way to this one. The link
  ///     itself is replaced; what it points to is left alone.
  ///   - run: whose calls open the folder.
  ///   - registry: notes the temporary file as long as it exists.
  /// - Throws: `.invalid` when the name is taken by something that may not be replaced (folders,
  ///   FIFOs, sockets and devices never may), `.unwritable` when the folder takes no file.
  package convenience init(
    at target: PathBytes, replacing: Bool, in run: RunContext, registry: AtomicFileRegistry = .shared
  ) throws(BatchError) {
    try self.init(at: target, replacing: replacing, calls: run.calls, registry: registry)
  }

  init(
    at target: PathBytes, replacing: Bool, calls: any FileSystemCalls, registry: AtomicFileRegistry
  ) throws(BatchError) {
    self.target = target
    output = Mutex(
      try AtomicFileOutput(
        at: target, in: .opening(calls), isReplacing: replacing, unnamedWith: nil, registry: registry))
  }

  /// Opens the file in a folder that is open, when what has the target's name was looked at.
  ///
  /// - Parameter permissions: makes a file that replaces nothing without a temporary name where that can be, and with
  ///   these permissions.
  init(
    at target: PathBytes, in folder: OutputFolder, replacing: Bool, unnamedWith permissions: UInt32? = nil,
    registry: AtomicFileRegistry = .shared
  ) throws(BatchError) {
    self.target = target
    output = Mutex(
      try AtomicFileOutput(
        at: target, in: .open(folder), isReplacing: replacing, unnamedWith: permissions, registry: registry))
  }

  /// Appends bytes, all of them.
  ///
  /// - Throws: `.unwritable`, also for a full disk, and then the temporary file is gone; `.invalid` when
  ///   the file was committed, discarded, or failed before.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    try output.withLock { output throws(BatchError) in
      guard let current = output.take() else { throw Self.closed(target) }
      // Not put back when this throws: what is let go of removes its file.
      try current.write(bytes)
      output = consume current
    }
  }

  /// Appends bytes, all of them, as the other `write` does.
  package func write(_ bytes: Span<UInt8>) throws(BatchError) {
    try bytes.bytes.withUnsafeBytes { buffer throws(BatchError) in try write(buffer) }
  }

  /// Finishes the content without giving the name yet; ``publish()`` follows.
  ///
  /// - Parameter attributes: of a source, access control lists among them.
  /// - Returns: nil, or what to report of an access control list that the target does not take.
  /// - Throws: as ``write(_:)``.
  @discardableResult
  func prepare(_ metadata: Metadata, attributes: [ExtendedAttribute] = []) throws(BatchError) -> BatchError? {
    try output.withLock { output throws(BatchError) in
      guard let current = output.take() else { throw Self.closed(target) }
      let isListLost = try current.finish(metadata, attributes: attributes, syncing: false)
      output = consume current
      guard isListLost else { return nil }
      return BatchError(
        .special,
        "could not be given the access control list of its source; its mode gives nobody more than that list does",
        path: target)
    }
  }

  /// Brings the content of a prepared file to the disk (`fsync(2)`).
  ///
  /// - Throws: as ``write(_:)``.
  func sync() throws(BatchError) {
    try output.withLock { output throws(BatchError) in
      guard let current = output.take() else { throw Self.closed(target) }
      try current.sync()
      output = consume current
    }
  }

  /// Gives a prepared file its name; syncs nothing.
  ///
  /// - Throws: as ``commit(_:syncing:)``.
  package func publish() throws(BatchError) {
    try output.withLock { output throws(BatchError) in
      guard var current = output.take() else { throw Self.closed(target) }
      try current.publish(syncing: false)
    }
  }

  /// Reads back what was written, from the beginning.
  ///
  /// - Throws: `unwritable` when it cannot be read, or what `body` throws.
  func readBack(_ body: (UnsafeRawBufferPointer) throws(BatchError) -> Void) throws(BatchError) {
    try output.withLock { output throws(BatchError) in
      guard let current = output.take() else { throw Self.closed(target) }
      try current.readBack(body)
      output = consume current
    }
  }

  /// A further descriptor, which the caller closes, for reading at any place of what was written so far.
  ///
  /// - Parameter syncing: brings the content to the disk and drops it from the cache, so that what is read is
  ///   what the disk holds.
  /// - Throws: as ``write(_:)``.
  func openForReading(syncing: Bool) throws(BatchError) -> Int32 {
    try output.withLock { output throws(BatchError) in
      guard let current = output.take() else { throw Self.closed(target) }
      let descriptor = try current.openForReading(syncing: syncing)
      output = consume current
      return descriptor
    }
  }

  /// Finishes the file and gives it its name.
  ///
  /// - Parameters:
  ///   - metadata: applied before the name is given, so that nobody sees the file without it.
  ///   - syncing: whether content and name are on the disk when this returns.
  /// - Throws: as when writing; `.invalid` when the name was taken meanwhile and may not be replaced;
  ///   `.cancelled` when the registry was emptied. The name is not given then, except when only
  ///   syncing the folder failed.
  package func commit(_ metadata: Metadata = Metadata(), syncing: Bool = true) throws(BatchError) {
    try output.withLock { output throws(BatchError) in
      guard var current = output.take() else { throw Self.closed(target) }
      try current.finish(metadata, syncing: syncing)
      try current.publish(syncing: syncing)
    }
  }

  /// The temporary file's inode, by which a walk can leave its own output out; nil when it is closed.
  package var identity: FileIdentity? { output.withLock { $0?.identity } }

  /// Appends bytes, and leaves a hole where they are zeros; ``finishSparse(size:)`` follows the last of them.
  func writeSparse(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    try output.withLock { output throws(BatchError) in
      guard var current = output.take() else { throw Self.closed(target) }
      try current.writeSparse(bytes)
      output = consume current
    }
  }

  /// Gives a file that ends in a hole its size.
  func finishSparse(size: Int64) throws(BatchError) {
    try output.withLock { output throws(BatchError) in
      guard let current = output.take() else { throw Self.closed(target) }
      try current.finishSparse(size: size)
      output = consume current
    }
  }

  /// Bytes written so far; 0 when it is closed.
  var size: Int64 { output.withLock { $0?.size ?? 0 } }

  /// Removes the temporary file; nothing happens after a commit.
  package func discard() {
    output.withLock { $0 = nil }
  }

  private static func closed(_ target: PathBytes) -> BatchError {
    BatchError(.invalid, "the output is closed already", path: target)
  }
}
