import BatchEngine
import CLinux
import Glibc

/// The file behind an ``AtomicFile``, with a temporary name or none; letting go of it removes the file.
struct AtomicFileOutput: ~Copyable, Sendable {
  private static let attempts = 16

  let target: PathBytes
  private let isReplacing: Bool
  private let registry: AtomicFileRegistry
  private let folder: OutputFolder
  /// Nil for a file that has no name until it is complete.
  private let name: TemporaryName?
  private var file: Descriptor?
  /// Owner and mode of the file as it was made, where they are known.
  private let given: FileStatus?
  /// Whether the last piece that was written as sparse was left out.
  var endsInHole = false

  /// The folder of a target.
  enum Folder {
    /// It is open, and what has the target's name was looked at.
    case open(OutputFolder)
    /// It is opened by these calls, links followed, and then looked into.
    case opening(any FileSystemCalls)
  }

  /// - Parameters:
  ///   - permissions: of a file that replaces nothing and gets no temporary name where the folder takes such files;
  ///     nil makes a file with a temporary name, its owner's alone.
  init(
    at target: PathBytes, in place: Folder, isReplacing: Bool, unnamedWith permissions: UInt32?,
    registry: AtomicFileRegistry
  ) throws(BatchError) {
    let last = target.lastComponent
    guard target.bytes.last != UInt8(ascii: "/"), !last.isEmpty, !last.isDots, !target.containsNUL else {
      throw BatchError(.invalid, "not the name of a file to write", path: target)
    }
    let folder: OutputFolder
    switch place {
    case .open(let known): folder = known
    case .opening(let calls):
      folder = try OutputFolder(of: target, calls: calls)
      try Self.check(target, in: folder.raw, isReplacing: isReplacing)
    }
    let created = try Self.create(
      for: target, in: folder, unnamedWith: isReplacing ? nil : permissions, registry: registry)
    self.target = target
    self.isReplacing = isReplacing
    self.registry = registry
    self.folder = folder
    name = created.name
    given = created.status
    file = Descriptor(owning: created.file)
  }

  deinit {
    // Runs before the folder is closed; after publish(syncing:) the registry has nothing to remove.
    if let name { registry.remove(name, unlinking: true) }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    let descriptor = descriptor
    var rest = bytes
    while !rest.isEmpty {
      let count = retrying { Glibc.write(descriptor, rest.baseAddress, rest.count) }
      // A regular file never takes nothing; were it so, trying again could go on for ever.
      guard count > 0 else { throw Self.failure("write", count == 0 ? Int(EIO) : -count, target) }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Sets the metadata, and brings the content to the disk where it is synced.
  ///
  /// - Returns: whether an access control list among the attributes was lost.
  @discardableResult
  func finish(
    _ metadata: AtomicFile.Metadata, attributes: [ExtendedAttribute] = [], syncing: Bool
  ) throws(BatchError) -> Bool {
    var having = AtomicFile.Metadata.Given(status: given)
    if metadata.removesForeignList {
      switch folder.listsOfNewFiles {
      case .inherited: having.mayHaveForeignList = true
      case .none: having.mayHaveForeignList = metadata.givesGroupMore
      case .unsupported: break
      }
    }
    let (failed, isListLost) = metadata.apply(to: descriptor, having: having, attributes: attributes)
    guard failed == 0 else { throw Self.failure("set the metadata of", Int(failed), target) }
    if syncing { try sync() }
    return isListLost
  }

  /// Brings the content to the disk.
  func sync() throws(BatchError) { try sync(descriptor) }

  /// A further descriptor for what was written, from the disk where it is synced.
  func openForReading(syncing: Bool) throws(BatchError) -> Int32 {
    if syncing {
      try sync(descriptor)
      // Advice: where it is not heeded, the cache is read.
      _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
    }
    let number = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard number >= 0 else { throw Self.failure("read back", Int(errno), target) }
    return number
  }

  /// Gives the file the target's name, and closes it.
  mutating func publish(syncing: Bool) throws(BatchError) {
    let failed = if let name { try rename(name) } else { try link() }
    if failed == EEXIST {
      try Self.check(target, in: folder.raw, isReplacing: false)
      throw Self.taken(target, "exists already")
    }
    guard failed == 0 else { throw Self.failure("give the finished file its name", Int(failed), target) }
    if syncing { try sync(folder.raw) }
  }

  /// - Returns: 0 or the error number.
  private mutating func rename(_ name: TemporaryName) throws(BatchError) -> Int32 {
    // Closing gives up the lock, and a file without one may be taken for stale: a copy of the
    // descriptor keeps it until the rename. Without a free descriptor we do without.
    let lock = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    defer { if lock >= 0 { _ = Glibc.close(lock) } }
    try close()
    if isReplacing { try Self.check(target, in: folder.raw, isReplacing: true) }
    let failed = isReplacing ? renameReplacing(name) : renameWithoutReplacing(name)
    if failed == ENOENT, registry.isClosed { return ECANCELED }
    if failed == 0 { registry.remove(name, unlinking: false) }
    return failed
  }

  /// - Returns: 0 or the error number.
  private mutating func link() throws(BatchError) -> Int32 {
    if registry.isClosed { return ECANCELED }
    let name = PathBytes(target.lastComponent)
    let failed = UnnamedFile.link(descriptor, as: name, in: folder.raw)
    do throws(BatchError) {
      try close()
    } catch {
      // Some file systems keep an error of writing for the end.
      if failed == 0 { _ = name.withCString { unlinkat(folder.raw, $0, 0) } }
      throw error
    }
    return failed
  }

  private mutating func close() throws(BatchError) {
    do throws(BatchError) {
      try file.take()?.close()
    } catch {
      throw Self.failure("close", Int(error.errno), target)
    }
  }

  var identity: FileIdentity? {
    var raw = stat()
    return fstat(descriptor, &raw) == 0 ? FileStatus(raw).identity : nil
  }

  var openDescriptor: Int32 { descriptor }

  var size: Int64 {
    var raw = stat()
    return fstat(descriptor, &raw) == 0 ? FileStatus(raw).size : 0
  }

  private var descriptor: Int32 {
    switch file {
    case .some(let file): file.raw
    case nil: -1
    }
  }

  private func sync(_ descriptor: Int32) throws(BatchError) {
    let result = retrying { Int(fsync(descriptor)) }
    // EINVAL: the file system has nothing to sync here, such as folders over some networks.
    guard result >= 0 || result == Int(-EINVAL) else { throw Self.failure("sync", -result, target) }
  }

  private func renameReplacing(_ name: TemporaryName) -> Int32 {
    call(name) { old, new in renameat(folder.raw, old, folder.raw, new) }
  }

  /// Renames unless the name is taken, in one step where the file system has a way to do it.
  private func renameWithoutReplacing(_ name: TemporaryName) -> Int32 {
    let flags = UInt32(bitPattern: clinux_rename_noreplace)
    let refused = call(name) { old, new in clinux_renameat2(folder.raw, old, folder.raw, new, flags) }
    guard [ENOSYS, EINVAL, ENOTSUP].contains(refused) else { return refused }
    // A link is refused when the name is taken; the temporary name goes when it is no longer needed.
    let linked = call(name) { old, new in linkat(folder.raw, old, folder.raw, new, 0) }
    if linked == 0 {
      registry.remove(name, unlinking: true)
      return 0
    }
    guard [ENOSYS, EINVAL, ENOTSUP, EPERM, EMLINK].contains(linked) else { return linked }
    // Neither exists, as on FAT: a look before the rename has to do.
    var raw = stat()
    let isTaken = call(name) { _, new in fstatat(folder.raw, new, &raw, AT_SYMLINK_NOFOLLOW) } == 0
    return isTaken ? EEXIST : renameReplacing(name)
  }

  /// - Returns: 0 or the error number.
  private func call(
    _ name: TemporaryName, _ body: (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32
  ) -> Int32 {
    PathBytes(name.bytes).withCString { old in
      PathBytes(target.lastComponent).withCString { new in body(old, new) == 0 ? 0 : errno }
    }
  }
}

extension AtomicFileOutput {
  private typealias Created = (file: Int32, name: TemporaryName?, status: FileStatus?)

  private static func create(
    for target: PathBytes, in folder: OutputFolder, unnamedWith permissions: UInt32?,
    registry: AtomicFileRegistry
  ) throws(BatchError) -> Created {
    if let permissions, let made = folder.makeUnnamed(permissions: permissions) {
      guard made.file >= 0 else { throw failure("create the output", -made.file, target) }
      return (Int32(made.file), nil, made.status)
    }
    for _ in 0..<attempts {
      if let created = try createNamed(for: target, in: folder.raw, registry: registry) { return created }
    }
    throw failure("create the output", Int(EEXIST), target)
  }

  /// Makes and locks a temporary file; nil when its name turned out to be somebody else's.
  private static func createNamed(
    for target: PathBytes, in folder: Int32, registry: AtomicFileRegistry
  ) throws(BatchError) -> Created? {
    let name = TemporaryName()
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let file = registry.add(name, in: folder) {
      PathBytes(name.bytes).withCString { path in retrying { Int(clinux_openat(folder, path, flags, 0o600)) }
      }
    }
    if file == Int(-EEXIST) { return nil }
    guard file >= 0 else { throw failure("create the output", -file, target) }
    // Where locks do not exist the file goes without: nobody else can lock it there either, and
    // only what can be locked is ever taken for stale.
    let locked = retrying { Int(flock(Int32(file), LOCK_EX | LOCK_NB)) }
    var status = stat()
    guard locked != Int(-EWOULDBLOCK), fstat(Int32(file), &status) == 0, status.st_nlink > 0 else {
      // Another run looked for stale files before the lock was there, and took it for one.
      registry.remove(name, unlinking: true)
      _ = Glibc.close(Int32(file))
      return nil
    }
    return (Int32(file), name, FileStatus(status))
  }

  /// Refuses a target whose name is taken by what may not be replaced.
  static func check(_ target: PathBytes, in folder: Int32, isReplacing: Bool) throws(BatchError) {
    var raw = stat()
    let result = PathBytes(target.lastComponent).withCString {
      fstatat(folder, $0, &raw, AT_SYMLINK_NOFOLLOW)
    }
    guard result == 0 else {
      if errno == ENOENT { return }
      throw failure("look at", Int(errno), target)
    }
    let kind = FileStatus(raw).kind
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

  /// The error of a call about the target: what cannot be written is `.unwritable` whatever the reason,
  /// except a limit of the machine, a name that cannot be, and a run that is being stopped.
  static func failure(_ action: String, _ number: Int, _ target: PathBytes) -> BatchError {
    let error = BatchError.syscall(action, errno: Int32(truncatingIfNeeded: number), path: target)
    if error.errno == ECANCELED { return error.recoded(.cancelled) }
    return [.exhausted, .invalid].contains(error.code) ? error : error.recoded(.unwritable)
  }
}
