import BatchEngine
import Glibc

extension TreeFixture {
  /// The record that a walk of the fixture gives for a file.
  package func record(_ name: PathBytes) throws -> FileRecord {
    let wanted = path(name)
    var tree = BatchRunner().tree([root])
    while let item = tree.next() {
      if case .item(.file(let record)) = item, record.path == wanted { return record }
    }
    throw BatchError(.missing, "not found", path: wanted)
  }

  package func status(_ name: PathBytes) -> FileStatus? {
    var raw = stat()
    return path(name).withCString { lstat($0, &raw) } == 0 ? FileStatus(raw) : nil
  }

  /// The regular files below the root, as relative paths in tree order.
  package func files() -> [String] {
    var tree = BatchRunner().tree([root])
    var names: [String] = []
    while let item = tree.next() {
      if case .item(.file(let record)) = item { names.append(relative(record.path)) }
    }
    return names
  }

  /// A path relative to the root; a path outside of the root is unchanged.
  package func relative(_ path: PathBytes) -> String {
    guard path.bytes.starts(with: root.bytes) else { return path.description }
    return PathBytes(path.bytes.dropFirst(root.bytes.count + 1)).description
  }
}
