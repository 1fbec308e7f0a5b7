import BatchEngine

/// Which sets this machine has backed up to, by directory.
///
/// A text file with one line of JSON for each set and directory. Other lines are ignored; deleting a line makes a directory
/// unknown.
struct KnownTargets {
  /// Ids of sets by their directories.
  private(set) var ids: [PathBytes: Set<String>] = [:]

  /// - Parameter path: nil if the machine has no place for the file.
  /// - Throws: the error of reading it; `unreadable` when another user could have written it.
  init(readingAt path: PathBytes?) throws(BatchError) {
    guard let path, let content = try StateFile.read(path) else { return }
    for line in content.split(separator: UInt8(ascii: "\n")) {
      guard let members = try? SnapshotLine(Array(line)), members.text("type") == "set",
        let id = members.text("id"), SetID.isValid(id.utf8), let directory = try? members.path("path")
      else { continue }
      ids[directory, default: []].insert(id)
    }
  }

  /// Adds a line to the file; creates the file and its parent directories.
  ///
  /// - Throws: `unwritable`.
  static func add(
    _ id: String, in directory: PathBytes, to path: PathBytes, calls: any FileSystemCalls
  ) throws(BatchError) {
    try FolderMaker(calls: calls, isSynced: true).make(path.parent)
    let file = try open(path, calls)
    let size = (try? calls.status(of: file))?.size ?? 0
    let raw = file.raw
    var line = [UInt8]()
    // An incomplete line of a killed run stays a separate line.
    var last = [UInt8(ascii: "\n")]
    _ = last.withUnsafeMutableBytes { calls.read(raw, into: $0, at: Int(max(0, size - 1))) }
    if last != [UInt8(ascii: "\n")] { line.append(UInt8(ascii: "\n")) }
    JSONLine.append("set", to: &line) { line in
      line.add("id", id)
      line.add(path: directory)
    }
    var failed = line.withUnsafeBytes { calls.write($0, to: raw) }
    if failed == 0 { failed = calls.sync(raw) }
    if failed == 0, size == 0 { failed = -calls.syncFolder(path.parent) }
    guard failed == 0 else { throw failure(-failed, path) }
  }

  private static func failure(_ number: Int32, _ path: PathBytes) -> BatchError {
    BatchError.syscall("note the target", errno: number, path: path).recoded(.unwritable)
  }

  private static func open(_ path: PathBytes, _ calls: any FileSystemCalls) throws(BatchError) -> Descriptor {
    do throws(BatchError) {
      return try calls.openToChange(path, appending: true)
    } catch {
      throw failure(error.errno, path)
    }
  }
}
