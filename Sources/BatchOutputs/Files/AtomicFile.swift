import BatchEngine
import Synchronization
import var Glibc.EEXIST

/// A file that appears under its name either complete or not at all.
///
/// It is written as a ``TemporaryFile`` in the target's folder, and renamed by ``commit(_:syncing:by:)``. Until then the target
/// is unchanged. The temporary file is removed when anything fails, when this object is released, and by
/// ``StagingArea/removeAll()``. After a `kill -9` ``StaleTemporaries`` removes it: its lock (`flock(2)`) ended with the
/// process.
///
/// Holds two descriptors from start to end, for the folder (which may be shared) and the file; and a third one during the
/// commit, if one is free. Calls from several threads take turns.
package final class AtomicFile: Sendable {
  /// The path as it was given, which is in every error.
  package let target: PathBytes
  private let folder: OpenFolder
  private let isReplacing: Bool
  private let replaced: FileStatus?
  /// Whether an existing FIFO, socket or device is replaced too.
  private let replacesAnything: Bool
  /// Nil when committed, discarded or failed.
  private let output: Mutex<TemporaryFile?>

  /// Opens the temporary file.
  ///
  /// - Parameters:
  ///   - target: its folder must exist; links on the way to the folder are followed.
  ///   - replacing: whether an existing file or symbolic link is replaced. The target of the link is not changed.
  ///   - calls: the calls that open the folder.
  ///   - area: records the temporary file while it exists.
  /// - Throws: `.invalid` when an existing file may not be replaced (folders, FIFOs, sockets and devices never may),
  ///   `.unwritable` when no file can be created in the folder.
  package convenience init(
    at target: PathBytes, replacing: Bool, calls: any FileSystemCalls, area: StagingArea = .shared
  ) throws(BatchError) {
    try Self.checkName(of: target)
    let folder = try OpenFolder(of: target, calls: calls)
    try Self.check(target, in: folder, isReplacing: replacing)
    try self.init(at: target, in: folder, replacing: replacing, area: area)
  }

  /// Opens the file in an open folder. The caller has already checked an existing target.
  ///
  /// - Parameters:
  ///   - anything: whether it may also replace a FIFO, a socket or a device.
  ///   - permissions: creates the file with these permissions and, if supported, without a temporary name. Only for a
  ///     file that replaces nothing.
  package init(
    at target: PathBytes, in folder: OpenFolder, replacing: Bool, anything: Bool = false,
    unnamedWith permissions: UInt32? = nil, area: StagingArea = .shared
  ) throws(BatchError) {
    replacesAnything = anything
    try Self.checkName(of: target)
    self.target = target
    self.folder = folder
    isReplacing = replacing
    replaced = nil
    do throws(BatchError) {
      if let permissions, !replacing,
        let file = try TemporaryFile.unnamed(in: folder, permissions: permissions, area: area)
      {
        output = Mutex(consume file)
      } else {
        output = Mutex(try TemporaryFile(in: folder, area: area))
      }
    } catch {
      throw error.at(target)
    }
  }

  /// Takes over a file that is complete except for its metadata.
  ///
  /// - Parameter replaced: the status of the file that it replaces, which must not have changed until then; nil if any file or
  ///   link may be replaced.
  package init(
    adopting file: consuming TemporaryFile, at target: PathBytes, isReplacing: Bool,
    replaced: FileStatus? = nil
  ) throws(BatchError) {
    try Self.checkName(of: target)
    replacesAnything = false
    self.target = target
    folder = file.folder
    self.isReplacing = isReplacing
    self.replaced = replaced
    output = Mutex(consume file)
  }

  // MARK: Content

  /// Appends all bytes.
  ///
  /// - Throws: `.unwritable`, also for a full disk, and then the temporary file is gone; `.invalid` when
  ///   the file was committed, discarded, or failed before. The same holds for the calls below.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    try use { file throws(BatchError) in try file.write(bytes) }
  }

  package func write(_ bytes: Span<UInt8>) throws(BatchError) {
    try bytes.bytes.withUnsafeBytes { buffer throws(BatchError) in try write(buffer) }
  }

  /// Copies the beginning of a range by ``TemporaryFile/append(_:of:)``; the caller writes the rest.
  package func append(_ range: Range<UInt64>, of source: Int32) throws(BatchError) -> UInt64 {
    try use { file throws(BatchError) in try file.append(range, of: source) }
  }

  /// Overwrites bytes; later appends still go to the end.
  package func overwrite(_ bytes: Span<UInt8>, at offset: UInt64) throws(BatchError) {
    try bytes.bytes.withUnsafeBytes { raw throws(BatchError) in
      try use { file throws(BatchError) in try file.write(raw, at: offset) }
    }
  }

  /// Appends bytes, and leaves holes for zeros. Call ``finishSparse(size:)`` after the last bytes.
  package func writeSparse(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    try use { file throws(BatchError) in try file.writeSparse(bytes) }
  }

  /// Sets the size of a file that ends in a hole.
  package func finishSparse(size: Int64) throws(BatchError) {
    try use { file throws(BatchError) in try file.finishSparse(size: size) }
  }

  /// Passes the open file to `body`; on failure the file is removed.
  package func withFile<Result>(
    _ body: (borrowing TemporaryFile) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    try use { file throws(BatchError) in try body(file) }
  }

  /// Reads back the content, from the beginning.
  ///
  /// - Throws: `unwritable` when it cannot be read, or the error of `body`.
  package func readBack(_ body: (UnsafeRawBufferPointer) throws(BatchError) -> Void) throws(BatchError) {
    try use { file throws(BatchError) in try file.readBack(body) }
  }

  /// Begins to write bytes to the disk, by ``TemporaryFile/beginSync(of:)``.
  package func beginSync(of range: Range<UInt64>) throws(BatchError) {
    try use { file throws(BatchError) in file.beginSync(of: range) }
  }

  /// Opens the content that was written so far, by ``TemporaryFile/openForReading(syncing:)``.
  package func openForReading(syncing: Bool) throws(BatchError) -> Int32 {
    try use { file throws(BatchError) in try file.openForReading(syncing: syncing) }
  }

  /// The temporary file's inode, so that a walk can exclude its own output; nil when it is closed.
  package var identity: FileIdentity? { output.withLock { $0?.identity } }

  /// Bytes written so far.
  package func size() throws(BatchError) -> Int64 { try use { file throws(BatchError) in try file.size() } }

  // MARK: The end

  /// Finishes the content without renaming the file; ``publish(by:)`` follows.
  ///
  /// - Parameter attributes: of a source, access control lists among them.
  /// - Returns: nil, or the error if the target does not support an access control list.
  /// - Throws: as ``write(_:)``.
  @discardableResult
  package func prepare(_ metadata: Metadata, attributes: [ExtendedAttribute] = []) throws(BatchError)
    -> BatchError?
  {
    let isListLost = try use { file throws(BatchError) in
      try Self.finish(file, metadata, attributes: attributes)
    }
    guard isListLost else { return nil }
    return BatchError(
      .special,
      "could not be given the access control list of its source; its mode gives no user more rights than that list",
      path: target)
  }

  /// Syncs the content of a prepared file to the disk (`fsync(2)`).
  package func sync() throws(BatchError) { try use { file throws(BatchError) in try file.sync() } }

  /// Renames a prepared file to its final name, without syncing.
  ///
  /// - Throws: as ``commit(_:syncing:by:)``.
  package func publish(by right: CommitRight) throws(BatchError) {
    try use(isLast: true) { file throws(BatchError) in try publish(&file, by: right) }
  }

  /// Finishes the file and renames it to its final name.
  ///
  /// - Parameters:
  ///   - metadata: applied before the rename, so that the file never appears without it.
  ///   - syncing: whether content and name are on the disk when this returns.
  /// - Throws: as when writing; `.invalid` when the name is taken now and may not be replaced; `.cancelled` when the area is
  ///   closed. The file is then not renamed, except if only the sync of the folder failed.
  package func commit(
    _ metadata: Metadata = Metadata(), syncing: Bool = true, by right: CommitRight
  ) throws(BatchError) {
    try use(isLast: true) { file throws(BatchError) in
      _ = try Self.finish(file, metadata)
      if syncing { try file.sync() }
      try publish(&file, by: right)
      guard syncing else { return }
      let failed = -folder.calls.sync(folder.raw)
      guard failed == 0 else { throw .output("sync", errno: failed) }
    }
  }

  /// Removes the temporary file; does nothing after a commit.
  package func discard() {
    output.withLock { $0 = nil }
  }

  // MARK: Steps

  /// Uses the file; on failure, and after the last use, it is removed unless it has its name.
  private func use<Result>(
    isLast: Bool = false, _ body: (inout TemporaryFile) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    try output.withLock { output throws(BatchError) in
      guard var current = output.take() else { throw closed }
      do throws(BatchError) {
        let result = try body(&current)
        if !isLast { output = consume current }
        return result
      } catch {
        throw error.path == nil ? error.at(target) : error
      }
    }
  }

  /// - Returns: whether an access control list among the attributes was lost.
  private static func finish(
    _ file: borrowing TemporaryFile, _ metadata: Metadata, attributes: [ExtendedAttribute] = []
  ) throws(BatchError) -> Bool {
    var having = Metadata.Given(status: file.given)
    if metadata.removesForeignList {
      switch file.folder.listsOfNewFiles {
      case .inherited: having.mayHaveForeignList = true
      case .none: having.mayHaveForeignList = metadata.givesGroupMore
      case .unsupported: break
      }
    }
    let (failed, isListLost) = metadata.apply(
      to: file.raw, having: having, attributes: attributes, calls: file.folder.calls)
    guard failed == 0 else { throw .output("set the metadata of", errno: failed) }
    return isListLost
  }

  private func publish(_ file: inout TemporaryFile, by right: CommitRight) throws(BatchError) {
    let name = PathBytes(target.lastComponent)
    let failed = try file.publish(as: name, replacing: isReplacing, by: right) { () throws(BatchError) in
      if !replacesAnything { try Self.check(target, in: folder, isReplacing: true) }
      guard let replaced else { return }
      guard let now = try folder.look(at: name), now.hasSameContent(as: replaced),
        now.statusChanged == replaced.statusChanged
      else {
        throw BatchError(.changed, "changed while the command processed a copy of it, and is kept")
      }
    }
    if failed == EEXIST {
      try Self.check(target, in: folder, isReplacing: false)
      throw Self.taken(target, "exists already")
    }
    guard failed == 0 else { throw .output("give the finished file its name", errno: failed) }
  }

  private var closed: BatchError {
    BatchError(.invalid, "the output is closed already", path: target)
  }

  // MARK: What has the name

  private static func checkName(of target: PathBytes) throws(BatchError) {
    let last = target.lastComponent
    guard target.bytes.last != UInt8(ascii: "/"), !last.isEmpty, !last.isDots, !target.containsNUL else {
      throw BatchError(.invalid, "not the name of a file to write", path: target)
    }
  }

  /// Refuses a target whose name belongs to a file that must not be replaced.
  package static func check(_ target: PathBytes, in folder: OpenFolder, isReplacing: Bool) throws(BatchError)
  {
    let found: FileStatus?
    do throws(BatchError) {
      found = try folder.look(at: PathBytes(target.lastComponent))
    } catch {
      throw .output("look at", errno: error.errno, path: target)
    }
    guard let kind = found?.kind else { return }
    guard kind == .regular || kind == .symbolicLink else { throw taken(target, "is \(kind.text)") }
    guard isReplacing else {
      throw taken(target, kind == .regular ? "exists already" : "is \(kind.text)")
    }
  }

  private static func taken(_ target: PathBytes, _ reason: String) -> BatchError {
    BatchError(
      .invalid, "cannot write the output: it \(reason)", path: target,
      remedy: reason == "exists already" ? .replaceOutput : nil)
  }
}
