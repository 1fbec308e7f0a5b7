import BatchEngine
import Glibc

extension TreeFixture {
  /// What a walk of the fixture finds of a file that it holds.
  package func record(_ name: PathBytes) throws -> FileRecord {
    let wanted = path(name)
    var tree = BatchRunner().tree([root])
    while let item = tree.next() {
      if case .file(let record) = item, record.path == wanted { return record }
    }
    throw BatchError(.missing, "not found", path: wanted)
  }

  package func status(_ name: PathBytes) -> FileStatus? {
    var raw = stat()
    return path(name).withCString { lstat($0, &raw) } == 0 ? FileStatus(raw) : nil
  }

  /// The regular files below the root, by their paths from there, in tree order.
  package func files() -> [String] {
    var tree = BatchRunner().tree([root])
    var names: [String] = []
    while let item = tree.next() {
      if case .file(let record) = item { names.append(relative(record.path)) }
    }
    return names
  }

  /// A path without that of the root; what is not below it stays as it is.
  package func relative(_ path: PathBytes) -> String {
    guard path.bytes.starts(with: root.bytes) else { return path.description }
    return PathBytes(path.bytes.dropFirst(root.bytes.count + 1)).description
  }
}
