import BatchEngine
import CLinux
import Glibc

/// A tree of files in a new folder, which is removed with its content when the fixture is freed.
///
/// Paths are relative to the root of the fixture and are bytes. Missing folders on the way are made.
package final class TreeFixture: Sendable {
  /// Absolute and without symbolic links.
  package let root: PathBytes
  /// A path next to the root, for files in which programs store facts about the machine; removed with the
  /// fixture.
  package var state: PathBytes { PathBytes(root.bytes + Array(".state".utf8)) }

  package init(on place: Place = .memory) throws {
    var template = Array((place.folder.description + "/batchproc-test-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw BatchError.syscall("make a folder", errno: errno) }
    root = PathBytes(template.dropLast().map { UInt8(bitPattern: $0) })
    // Some tests access the tree as another user.
    chmod(template, 0o755)
  }

  deinit {
    // Thousands of fixtures are removed, so most are removed without another process.
    for tree in [root, state] { tree.withCString { Self.remove($0, in: AT_FDCWD, levels: 50) } }
    guard [root, state].contains(where: { $0.withCString { access($0, F_OK) } == 0 }) else { return }
    // rm can remove trees that are deeper than PATH_MAX.
    let remove: [PathBytes] = ["rm", "-rf", "--", root, state]
    if let removed = try? Outcome(of: remove), removed.status == 0 { return }
    // Some tests make folders that not even their owner may change.
    _ = try? Outcome(of: ["chmod", "-R", "u+rwx", "--", root])
    _ = try? Outcome(of: remove)
  }

  /// Removes what is at most so many levels deep and can be removed.
  private static func remove(_ name: UnsafePointer<CChar>, in folder: Int32, levels: Int) {
    let opened = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard opened >= 0 else {
      unlinkat(folder, name, 0)
      return
    }
    guard levels > 0, let listing = fdopendir(opened) else {
      close(opened)
      return
    }
    while let entry = readdir(listing) {
      withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        guard let name = bytes.baseAddress?.assumingMemoryBound(to: CChar.self), strcmp(name, ".") != 0,
          strcmp(name, "..") != 0
        else { return }
        remove(name, in: opened, levels: levels - 1)
      }
    }
    closedir(listing)
    unlinkat(folder, name, AT_REMOVEDIR)
  }

  package func path(_ name: PathBytes) -> PathBytes { name.isEmpty ? root : root.appending(name.bytes) }

  // MARK: Making

  package func folder(_ name: PathBytes) throws {
    var parent = root
    for component in name.bytes.split(separator: UInt8(ascii: "/")) {
      parent = parent.appending(component)
      let result = parent.withCString { mkdir($0, 0o755) }
      guard result == 0 || errno == EEXIST else {
        throw BatchError.syscall("make", errno: errno, path: parent)
      }
    }
  }

  /// Makes a file, or replaces its content.
  ///
  /// - Returns: its absolute path.
  @discardableResult
  package func file(_ name: PathBytes, _ content: some Collection<UInt8>) throws -> PathBytes {
    try folder(containing: name)
    try write(name, content, flags: O_CREAT | O_TRUNC | O_WRONLY)
    return path(name)
  }

  @discardableResult
  package func file(_ name: PathBytes, _ text: String) throws -> PathBytes {
    try file(name, Array(text.utf8))
  }

  /// Makes a file of `size` bytes that differ from place to place.
  package func file(_ name: PathBytes, size: Int) throws { try file(name, Self.content(size)) }

  /// Makes many empty files in one folder.
  package func emptyFiles(_ names: [String], in name: PathBytes = "") throws {
    try folder(name)
    let parent = path(name).withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    defer { close(parent) }
    for name in names {
      let descriptor = openat(parent, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
      guard descriptor >= 0 else { throw BatchError.syscall("make", errno: errno, path: PathBytes(name)) }
      close(descriptor)
    }
  }

  package func append(_ text: String, to name: PathBytes) throws {
    try write(name, Array(text.utf8), flags: O_APPEND | O_WRONLY)
  }

  package func truncate(_ name: PathBytes, to size: Int) throws {
    try check("truncate", name) { Glibc.truncate($0, off_t(size)) }
  }

  /// Makes a file that is one hole.
  package func sparseFile(_ name: PathBytes, size: Int) throws {
    try file(name, "")
    try truncate(name, to: size)
  }

  package func fifo(_ name: PathBytes) throws {
    try folder(containing: name)
    try check("make", name) { mkfifo($0, 0o644) }
  }

  package func socket(_ name: PathBytes) throws {
    try folder(containing: name)
    try check("make", name) { mknod($0, S_IFSOCK | 0o644, 0) }
  }

  package func symbolicLink(_ name: PathBytes, to target: PathBytes) throws {
    try folder(containing: name)
    try check("link", name) { link in target.withCString { Glibc.symlink($0, link) } }
  }

  package func hardLink(_ name: PathBytes, to target: PathBytes) throws {
    try check("link", name) { link in path(target).withCString { Glibc.link($0, link) } }
  }

  package func remove(_ name: PathBytes) throws { try check("remove", name) { Glibc.remove($0) } }

  package func removeTree(_ name: PathBytes) throws {
    let removed = try Outcome(of: ["rm", "-rf", "--", path(name)])
    guard removed.status == 0 else { throw BatchError(.invalid, removed.errorText, path: name) }
  }

  package func rename(_ name: PathBytes, to target: PathBytes) throws {
    try check("rename", name) { from in path(target).withCString { Glibc.rename(from, $0) } }
  }

  /// Exchanges two names in one step.
  package func exchange(_ one: PathBytes, _ other: PathBytes) throws {
    try check("exchange", one) { one in
      path(other).withCString { clinux_renameat2(AT_FDCWD, one, AT_FDCWD, $0, 2) }
    }
  }

  package func setMode(_ name: PathBytes, _ mode: UInt32) throws {
    try check("set the mode of", name) { chmod($0, mode_t(mode)) }
  }

  /// Sets the modification time, so that a rewrite is noticed even within the resolution of the clock.
  package func setModified(_ name: PathBytes, seconds: Int) throws {
    let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
    try check("set the time of", name) { utimensat(AT_FDCWD, $0, times, 0) }
  }

  /// Makes `depth` nested folders of one name, and a file in the last one.
  package func chain(of name: PathBytes, depth: Int, leaf: PathBytes) throws {
    var current = root.withCString { open($0, O_RDONLY | O_DIRECTORY) }
    defer { close(current) }
    for _ in 0..<depth {
      let isMade = name.withCString { mkdirat(current, $0, 0o755) } == 0
      let next = name.withCString { openat(current, $0, O_RDONLY | O_DIRECTORY) }
      guard isMade, next >= 0 else { throw BatchError.syscall("make", errno: errno, path: name) }
      close(current)
      current = next
    }
    let file = leaf.withCString { openat(current, $0, O_CREAT | O_WRONLY, 0o644) }
    guard file >= 0 else { throw BatchError.syscall("make", errno: errno, path: leaf) }
    close(file)
  }

  /// The content of a file that is made with a size.
  package static func content(_ size: Int) -> [UInt8] { [UInt8](repeating: pattern, length: size) }

  /// The length is a prime, so that no two buffers of a round size are equal.
  private static let pattern: [UInt8] = {
    var numbers = SeededNumbers(seed: 1)
    return (0..<65_537).map { _ in UInt8(truncatingIfNeeded: numbers.next()) }
  }()

  // MARK: Helpers

  private func folder(containing name: PathBytes) throws {
    if name.bytes.contains(UInt8(ascii: "/")) { try folder(name.parent) }
  }

  private func write(_ name: PathBytes, _ content: some Collection<UInt8>, flags: Int32) throws {
    let descriptor = path(name).withCString { open($0, flags | O_CLOEXEC, 0o644) }
    guard descriptor >= 0 else { throw BatchError.syscall("make", errno: errno, path: name) }
    defer { close(descriptor) }
    var rest = Array(content)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { throw BatchError.syscall("write", errno: errno, path: name) }
      rest = rest.dropFirst(count)
    }
  }

  private func check(
    _ action: String, _ name: PathBytes, _ call: (UnsafePointer<CChar>) -> Int32
  ) throws {
    guard path(name).withCString(call) == 0 else {
      throw BatchError.syscall(action, errno: errno, path: name)
    }
  }
}
