import CLinux
import Glibc

/// A file that is written in an open folder and has no final name yet: it has no name at all (`O_TMPFILE`) or a temporary one.
/// It is removed when this value is released before it gets its final name.
///
/// A temporary file is locked with `flock(2)`, so that ``StaleTemporaries`` of another run does not remove it. It uses the
/// system calls of the folder. Errors have no path; the caller adds it.
package struct TemporaryFile: ~Copyable, Sendable {
  private static let attempts = 16
  /// In bytes.
  private static let pieceSize = 256 << 10
  /// Zeros in pieces of this size become holes; smaller ones are not worth a seek.
  private static let holeSize = 64 << 10

  package let folder: OpenFolder
  /// Nil for a file that has no name until it is complete.
  package let name: TemporaryName?
  /// Owner and mode of the new file, if known.
  package let given: FileStatus?
  private let area: StagingArea
  /// Nil after it was closed.
  private var file: Descriptor?
  /// Whether the last sparse piece was left out as a hole.
  private var endsInHole = false
  /// Whether the temporary name remains when this value is released.
  private var isStaged = false

  private var calls: any FileSystemCalls { folder.calls }

  private init(
    _ file: consuming Descriptor, name: TemporaryName?, given: FileStatus?, in folder: OpenFolder,
    area: StagingArea
  ) {
    self.file = consume file
    self.name = name
    self.given = given
    self.folder = folder
    self.area = area
  }

  /// Creates a file that has no name.
  ///
  /// - Parameter permissions: reduced by the umask, or by the folder's default access control list.
  /// - Returns: nil if the kernel or the file system does not support such files.
  /// - Throws: the error of creating it.
  package static func unnamed(
    in folder: OpenFolder, permissions: UInt32, area: StagingArea
  ) throws(BatchError) -> TemporaryFile? {
    guard let made = folder.makeUnnamed(permissions: permissions) else { return nil }
    guard made.file >= 0 else { throw failure("create", -made.file) }
    return TemporaryFile(
      Descriptor(owning: Int32(truncatingIfNeeded: made.file)), name: nil, given: made.status, in: folder,
      area: area)
  }

  /// Creates a file with a temporary name.
  ///
  /// - Parameters:
  ///   - permissions: reduced by the umask, or by the folder's default access control list.
  ///   - isLocked: whether it is locked while it is written, so that other runs do not remove it as stale. Needed for a file
  ///     that takes long to write.
  /// - Throws: the error of creating it; `cancelled` when the area is closed.
  package init(
    in folder: OpenFolder, permissions: UInt32 = 0o600, isLocked: Bool = true, area: StagingArea
  ) throws(BatchError) {
    for _ in 0..<Self.attempts {
      let name = TemporaryName()
      let created = area.add(name, in: folder) {
        folder.calls.create(PathBytes(name.bytes), in: folder.raw, permissions: permissions)
      }
      if created == Int(-EEXIST) { continue }
      guard created >= 0 else { throw Self.failure("create", -created) }
      let file = Descriptor(owning: Int32(truncatingIfNeeded: created))
      var status: FileStatus?
      if isLocked {
        status = Self.lock(file.raw, folder.calls)
        guard status != nil else {
          // Another run has removed the file as stale before it was locked.
          area.remove(name, unlinking: true)
          continue
        }
      } else {
        status = folder.statusOfNew(file.raw, permissions: permissions)
      }
      self.init(file, name: name, given: status, in: folder, area: area)
      return
    }
    throw Self.failure("create", Int(EEXIST))
  }

  /// Takes over a complete file that another program wrote in a private folder: moves it into the folder of its target, under a
  /// temporary name.
  ///
  /// - Throws: `special` for anything but a regular file, and for a file with further names, which is not only ours to change; the
  ///   error of moving it, without a path; `missing` if it does not exist.
  package init(
    adopting entry: PathBytes, from own: PrivateFolder, area: StagingArea = .shared
  ) throws(BatchError) {
    let calls = own.parent.calls
    guard let found = try own.opened.look(at: entry) else {
      throw BatchError(.missing, "the command wrote no output")
    }
    guard found.kind == .regular else {
      throw BatchError(.special, "the command left \(found.kind.text) in place of the output")
    }
    guard found.linkCount == 1 else {
      throw BatchError(.special, "the command made the output a hard link to another file")
    }
    var opened = own.opened.open(entry, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
    // A user who is not root cannot open a file without this permission, and cannot give it a mark without the other one.
    if opened == -EACCES, Self.chmod(entry, in: own.opened) {
      opened = own.opened.open(entry, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
    }
    guard opened >= 0 else { throw Self.failure("open", Int(-opened)) }
    let file = Descriptor(owning: opened)
    if found.mode & 0o200 == 0 { _ = calls.setMode(of: file.raw, to: found.mode & 0o777 | 0o600) }
    guard let status = Self.lock(file.raw, calls), status.identity == found.identity, status.linkCount == 1
    else { throw BatchError(.changed, "the output was changed after the command had ended") }
    let name = TemporaryName()
    let moved = area.add(name, in: own.parent) {
      Int(
        calls.renameKeeping(entry, in: own.opened.raw, to: PathBytes(name.bytes), in: own.parent.raw))
    }
    guard moved >= 0 else { throw Self.failure("move", -moved) }
    guard try own.parent.look(at: PathBytes(name.bytes))?.identity == status.identity else {
      area.remove(name, unlinking: true)
      throw BatchError(.changed, "the output was changed after the command had ended")
    }
    self.init(file, name: name, given: status, in: own.parent, area: area)
  }

  deinit {
    if let name, !isStaged { area.remove(name, unlinking: true) }
  }

  /// Locks a file. If the file system has no locks, it stays unlocked: only a file that can be locked counts as stale.
  ///
  /// - Returns: its status; nil when another run holds the lock or removed the file.
  private static func lock(_ file: Int32, _ calls: any FileSystemCalls) -> FileStatus? {
    guard calls.lock(file) != -EWOULDBLOCK, let status = try? calls.status(of: file), status.linkCount > 0
    else { return nil }
    return status
  }

  /// Gives a file a mode that lets its owner open it.
  private static func chmod(_ entry: PathBytes, in folder: OpenFolder) -> Bool {
    guard let place = try? folder.openPlace(entry) else { return false }
    return folder.calls.setMode(of: place.raw, to: 0o600, isPlace: true) == 0
  }

  // MARK: Content

  /// Valid as long as this value lives and is open; -1 when it is closed.
  package var raw: Int32 {
    switch file {
    case .some(let file): file.raw
    case nil: -1
    }
  }

  package var identity: FileIdentity? { (try? calls.status(of: raw))?.identity }

  /// Bytes written so far.
  package func size() throws(BatchError) -> Int64 {
    var status = stat()
    try check(calls.status(of: raw, into: &status), "look at")
    return Int64(status.st_size)
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    try check(calls.write(bytes, to: raw), "write")
  }

  /// Appends a part of another file inside the kernel, as far as both file systems support that.
  ///
  /// - Returns: how many bytes were appended.
  package func append(_ range: Range<UInt64>, of source: Int32) throws(BatchError) -> UInt64 {
    var rest = range
    while !rest.isEmpty {
      let count = calls.append(rest, of: source, to: raw)
      if [-EXDEV, -EINVAL, -EOPNOTSUPP, -ENOSYS, -EBADF, 0].contains(Int32(clamping: count)) { break }
      guard count > 0 else { throw Self.failure("write", -count) }
      rest = (rest.lowerBound + UInt64(count))..<rest.upperBound
    }
    return rest.lowerBound - range.lowerBound
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(BatchError) {
    guard let place = off_t(exactly: offset) else { throw Self.failure("write", Int(EFBIG)) }
    try check(calls.write(bytes, to: raw, at: place), "write")
  }

  /// Appends bytes, and leaves holes for zeros. Call ``finishSparse(size:)`` after the last bytes.
  package mutating func writeSparse(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    var rest = bytes
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest[..<min(rest.count, Self.holeSize)])
      endsInHole = piece.count == Self.holeSize && Self.isZero(piece)
      if endsInHole {
        guard lseek(raw, off_t(piece.count), SEEK_CUR) >= 0 else { throw Self.failure("write", Int(errno)) }
      } else {
        try write(piece)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
    }
  }

  /// Sets the size of a file that ends in a hole.
  package func finishSparse(size: Int64) throws(BatchError) {
    if endsInHole { try setSize(UInt64(clamping: size)) }
  }

  /// Sets the size of the file; ranges that were not written are holes.
  package func setSize(_ size: UInt64) throws(BatchError) {
    guard let length = off_t(exactly: size) else { throw Self.failure("write", Int(EFBIG)) }
    try check(calls.resize(raw, to: length), "write")
  }

  /// Reads back the content, from the beginning.
  ///
  /// - Throws: also the error of `body`.
  package func readBack(
    _ body: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: off_t = 0
    while true {
      let count = calls.read(raw, into: buffer, at: offset)
      guard count >= 0 else { throw Self.failure("read back", -count) }
      if count == 0 { return }
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += off_t(count)
    }
  }

  /// Another descriptor for reading the content at any offset. The caller closes it.
  ///
  /// - Parameter syncing: syncs the content and drops it from the page cache, so that reads come from the disk.
  package func openForReading(syncing: Bool) throws(BatchError) -> Int32 {
    if syncing {
      try sync()
      // Only advice: if the kernel ignores it, reads come from the cache.
      _ = posix_fadvise(raw, 0, 0, POSIX_FADV_DONTNEED)
    }
    let number = fcntl(raw, F_DUPFD_CLOEXEC, 3)
    guard number >= 0 else { throw Self.failure("read back", Int(errno)) }
    return number
  }

  package func sync() throws(BatchError) { try check(calls.sync(raw), "sync") }

  /// Asks the kernel to begin to write these bytes to the disk, so that a later sync has less to wait for. Only advice: the sync tells
  /// if it failed.
  package func beginSync(of range: Range<UInt64>) {
    clinux_begin_sync(raw, range.lowerBound, range.upperBound - range.lowerBound)
  }

  private static func isZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress, bytes[0] == 0 else { return false }
    return memcmp(base, base + 1, bytes.count - 1) == 0
  }

  // MARK: Names

  /// Closes the file, and gives it its final name in its folder.
  ///
  /// - Parameters:
  ///   - isReplacing: whether the file replaces an existing one. A file without a temporary name never does.
  ///   - check: checks the existing file just before it is replaced.
  /// - Returns: 0 or the error number: `EEXIST` when the name is taken, `ECANCELED` when the area is closed.
  /// - Throws: the error of closing, which some file systems report only then; the error of `check`.
  package mutating func publish(
    as final: PathBytes, replacing isReplacing: Bool, by right: CommitRight,
    check: () throws(BatchError) -> Void
  ) throws(BatchError) -> Int32 {
    guard let name else { return try link(as: final, by: right) }
    // Closing releases the lock, and an unlocked file may be removed as stale. A duplicate descriptor keeps the lock until the
    // rename, if a descriptor is free.
    let lock = fcntl(raw, F_DUPFD_CLOEXEC, 3)
    defer { if lock >= 0 { _ = Glibc.close(lock) } }
    try close()
    if isReplacing { try check() }
    return Self.rename(name, in: folder, to: final, in: folder, replacing: isReplacing, area: area, by: right)
  }

  /// Gives a file that has no name its final one, and closes it.
  ///
  /// - Returns: 0 or the error number; it stays open if the name is taken (`EEXIST`).
  package mutating func link(as final: PathBytes, by right: CommitRight) throws(BatchError) -> Int32 {
    if area.isClosed { return ECANCELED }
    let failed = -calls.link(raw, as: final, in: folder.raw)
    guard failed == 0 else { return failed }
    do throws(BatchError) {
      try close()
    } catch {
      folder.remove(final, by: right)
      throw error
    }
    return 0
  }

  /// Closes the file and keeps its temporary name in the area; a file without a name gets one.
  ///
  /// - Parameter place: its folder, which can be opened again later.
  /// - Throws: the error of closing or naming it; `cancelled` when the area is closed.
  package consuming func stage(in place: StagedFolder) throws(BatchError) -> TemporaryName {
    let staged = name ?? TemporaryName()
    if name == nil {
      let raw = raw
      let (folder, calls) = (folder, calls)
      let failed = area.add(staged, in: folder) {
        Int(calls.link(raw, as: PathBytes(staged.bytes), in: folder.raw))
      }
      guard failed >= 0 else { throw Self.failure("create", -failed) }
    }
    do throws(BatchError) {
      try close()
    } catch {
      area.remove(staged, unlinking: true)
      throw error
    }
    area.close(staged, reopening: place)
    isStaged = true
    return staged
  }

  /// Renames a temporary file to its final name.
  ///
  /// - Returns: 0 or the error number: `EEXIST` when the name is taken, `ECANCELED` when the area is closed.
  package static func rename(
    _ name: TemporaryName, in folder: OpenFolder, to final: PathBytes, in target: OpenFolder,
    replacing isReplacing: Bool, area: StagingArea, by right: CommitRight
  ) -> Int32 {
    let old = PathBytes(name.bytes)
    let failed =
      isReplacing
      ? folder.calls.rename(old, in: folder.raw, to: final, in: target.raw)
      : folder.calls.renameKeeping(old, in: folder.raw, to: final, in: target.raw)
    if failed == 0 { area.remove(name, unlinking: false) }
    return failed == -ENOENT && area.isClosed ? ECANCELED : -failed
  }

  private mutating func close() throws(BatchError) {
    do throws(BatchError) {
      try file.take()?.close()
    } catch {
      throw Self.failure("close", Int(error.errno))
    }
  }

  private func check(_ result: Int32, _ action: String) throws(BatchError) {
    guard result < 0 else { return }
    throw Self.failure(action, -Int(result))
  }

  private static func failure(_ action: String, _ number: Int) -> BatchError {
    .output(action, errno: Int32(truncatingIfNeeded: number))
  }
}
