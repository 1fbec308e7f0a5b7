import Glibc

/// The search for the file of a program.
package enum ChildProgram {
  /// What `execvp(3)` searches without the variable `PATH`.
  private static let usualPath: PathBytes = "/bin:/usr/bin"

  /// Finds the file that `execvp(3)` would execute.
  ///
  /// - Parameters:
  ///   - name: a name with a slash is not searched.
  ///   - path: the variable `PATH`; nil if it is not set.
  /// - Throws: `missing`, or `unreadable` for a file that may not be executed.
  package static func find(_ name: PathBytes, path: PathBytes?) throws(BatchError) -> PathBytes {
    guard !name.isEmpty, !name.containsNUL else { throw missing(name, remedy: nil) }
    let slash = UInt8(ascii: "/")
    var objection: BatchError?
    let isSearched = !name.bytes.contains(slash)
    let folders =
      isSearched
      ? (path ?? usualPath).bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) : [[]]
    for folder in folders {
      // An empty element means the current folder.
      let file =
        isSearched
        ? PathBytes(folder.isEmpty ? Array(".".utf8) : Array(folder)).appending(name.bytes) : name
      if file.containsNUL { continue }
      switch Self.objection(to: file, named: name) {
      case nil: return file
      case let found?: objection = objection ?? (found.code == .missing ? nil : found)
      }
    }
    throw objection ?? missing(name, remedy: isSearched ? "check the name and the variable PATH" : nil)
  }

  private static func missing(_ name: PathBytes, remedy: Remedy?) -> BatchError {
    BatchError(.missing, "command not found", path: name, errno: ENOENT, remedy: remedy)
  }

  /// Why a file cannot be executed; nil if it can.
  private static func objection(to file: PathBytes, named name: PathBytes) -> BatchError? {
    let kind: FileStatus.Kind
    do throws(BatchError) {
      kind = try file.status(followingLinks: true).kind
    } catch {
      return [ENOENT, ENOTDIR].contains(error.errno) ? missing(name, remedy: nil) : error.at(name)
    }
    if kind == .directory {
      return BatchError(.unreadable, "the command is a folder", path: name, errno: EACCES)
    }
    let isExecutable = file.withCString { access($0, X_OK) == 0 }
    if isExecutable { return nil }
    return BatchError(
      .unreadable, "the command may not be executed", path: name, errno: errno,
      remedy: "check its permissions")
  }
}
