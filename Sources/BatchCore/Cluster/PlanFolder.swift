import BatchEngine
import BatchOutputs

/// The open folder of a plan: its files are accessed below the descriptor, and no link in it is followed.
///
/// A plan controls what a run reads, writes and removes. So the folder and each file that is read must belong to this user or to
/// root, and no other user may be able to write to them.
package struct PlanFolder: Sendable {
  let opened: OpenFolder
  private let trust: TrustedFile

  package var path: PathBytes { opened.path }

  var calls: any FileSystemCalls { opened.calls }

  /// Opens a folder that the user named.
  ///
  /// - Throws: the error of opening it, with its path; `untrusted` when another user can change it.
  package init(
    _ path: PathBytes, calls: any FileSystemCalls, trust: TrustedFile? = nil
  ) throws(BatchError) {
    opened = try FolderOpener(calls: calls).folder(named: path)
    self.trust = trust ?? TrustedFile(calls: calls)
    try self.trust.check(opened)
  }

  /// Whether the plan belongs to this user, and not to root.
  package func isOwn() throws(BatchError) -> Bool {
    guard trust.isOwn(opened.status) else { return false }
    return trust.isOwn(try calls.status(of: openFile(ShardPlan.fileName)))
  }

  /// The path of a file, for messages.
  func path(of name: String) -> PathBytes { path.appending(name.utf8) }

  /// Opens a regular file to read it.
  ///
  /// - Throws: the error of opening it, `malformed` for anything else, `untrusted` when another user can write to it; with the path.
  func openFile(_ name: String) throws(BatchError) -> Descriptor {
    do throws(BatchError) {
      let file = try opened.openFile(PathBytes(name))
      let status = try calls.status(of: file)
      guard status.kind == .regular else { throw BatchError(.malformed, "is not a regular file") }
      try trust.check(status, at: path(of: name))
      return file
    } catch {
      throw error.at(path(of: name))
    }
  }

  /// The whole content of a regular file.
  ///
  /// - Parameter limit: the most bytes that it may have.
  func content(of name: String, limit: Int) throws(BatchError) -> [UInt8] {
    let file = try openFile(name)
    let raw = file.raw
    do throws(BatchError) {
      guard let size = Int(exactly: try calls.status(of: raw).size), size <= limit else {
        throw BatchError(.malformed, "is larger than \(limit) bytes")
      }
      return try [UInt8](upTo: size) { (room) throws(BatchError) in try calls.fill(room, from: raw, at: 0) }
    } catch {
      throw error.at(path(of: name))
    }
  }

  /// A file that appears in the folder when it is complete.
  func newFile(_ name: String, replacing: Bool) throws(BatchError) -> AtomicFile {
    let target = path(of: name)
    try AtomicFile.check(target, in: opened, isReplacing: replacing)
    return try AtomicFile(at: target, in: opened, replacing: replacing)
  }

  func has(_ name: String) throws(BatchError) -> Bool { try opened.look(at: PathBytes(name)) != nil }

  /// All names, unsorted.
  func names() throws(BatchError) -> [PathBytes] {
    var names: [PathBytes] = []
    do throws(BatchError) {
      let list = try opened.readable()
      try calls.forEachName(in: list.raw) { names.append(PathBytes($0)) }
      withExtendedLifetime(list) {}
    } catch {
      throw error.at(path)
    }
    return names
  }

  /// - Returns: the error, if an existing file could not be removed.
  func remove(_ name: String, by right: CommitRight) -> BatchError? {
    let failed = opened.remove(PathBytes(name), by: right)
    guard failed != 0 else { return nil }
    let error = BatchError.syscall("remove", errno: failed, path: path(of: name))
    return error.isNotFound ? nil : error
  }
}
