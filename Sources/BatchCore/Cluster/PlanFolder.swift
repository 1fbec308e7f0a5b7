import BatchEngine
import BatchOutputs

/// The open folder of a plan: its files are accessed below the descriptor, and no link in it is followed.
package struct PlanFolder: Sendable {
  let opened: OpenFolder

  package var path: PathBytes { opened.path }

  var calls: any FileSystemCalls { opened.calls }

  /// Opens a folder that the user named.
  ///
  /// - Throws: the error of opening it, with its path.
  package init(_ path: PathBytes, calls: any FileSystemCalls) throws(BatchError) {
    opened = try FolderOpener(calls: calls).folder(named: path)
  }

  /// The path of a file, for messages.
  func path(of name: String) -> PathBytes { path.appending(name.utf8) }

  /// Opens a regular file to read it.
  ///
  /// - Throws: the error of opening it, `malformed` for anything else; with the path.
  func openFile(_ name: String) throws(BatchError) -> Descriptor {
    do throws(BatchError) {
      let file = try opened.openFile(PathBytes(name))
      guard try calls.status(of: file).kind == .regular else {
        throw BatchError(.malformed, "is not a regular file")
      }
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
