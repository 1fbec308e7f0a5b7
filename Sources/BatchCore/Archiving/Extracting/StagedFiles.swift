import BatchEngine
import CLinux
import Glibc
import Synchronization

/// A file that was unpacked and closed. It has a temporary name until all members before it are known to be whole.
struct StagedFile: Sendable {
  let name: TemporaryName
  /// The folder below the target that it lies in.
  let folder: ArraySlice<UInt8>
  let losses: EntryMetadata.Losses
}

/// The temporary names of the files of one chunk. What has one when this goes is removed.
final class StagedFiles: Sendable {
  private let names: Names
  private let registry: AtomicFileRegistry

  init(below folder: ExtractionFolder, registry: AtomicFileRegistry = .shared) {
    names = Names(folder)
    self.registry = registry
    registry.add(names)
  }

  deinit {
    names.removeAll()
    registry.remove(names)
  }

  /// Makes a file and notes its name in one step, so that a signal cannot come in between.
  ///
  /// - Parameter create: returns a descriptor, or the negative error number.
  /// - Returns: what `create` returned; `-ECANCELED` when temporary files are refused.
  func add(_ name: TemporaryName, in folder: ArraySlice<UInt8>, creating create: () -> Int) -> Int {
    names.state.withLock { state in
      guard !state.isClosed else { return Int(-ECANCELED) }
      let result = create()
      if result >= 0 { state.entries.append((folder, name)) }
      return result
    }
  }

  /// Forgets the names, which all files have lost.
  func forget() { names.state.withLock { $0.entries = [] } }

  private final class Names: TemporaryFileKeeper {
    struct State {
      var entries: [(folder: ArraySlice<UInt8>, name: TemporaryName)] = []
      var isClosed = false
    }

    let state = Mutex(State())
    private let folder: ExtractionFolder

    init(_ folder: ExtractionFolder) {
      self.folder = folder
    }

    func removeAll() {
      let entries = state.withLock { state in
        state.isClosed = true
        defer { state.entries = [] }
        return state.entries
      }
      // Files of one folder come together. A folder that is gone took its files with it.
      var rest = entries[...]
      while let path = rest.first?.folder {
        let neighbours = rest.prefix { $0.folder == path }
        rest = rest.dropFirst(neighbours.count)
        guard let opened = try? folder.open(path, creating: false) else { continue }
        for (_, name) in neighbours {
          _ = PathBytes(name.bytes).withCString { unlinkat(opened.raw, $0, 0) }
        }
      }
    }
  }
}

/// A regular file that is being unpacked under a temporary name, or under none.
struct ExtractedFile: ~Copyable {
  private static let attempts = 16

  /// Nil for a file without a name, of which nothing is left when it is let go of.
  let name: TemporaryName?
  private let file: Descriptor
  private let isDiscarded: Bool

  /// Makes a file that has no name.
  ///
  /// - Returns: nil where the kernel or the file system has no such files.
  static func unnamed(in folder: Int32, permissions: UInt32) throws(BatchError) -> ExtractedFile? {
    let made = UnnamedFile.make(in: folder, permissions: permissions)
    if made >= 0 { return ExtractedFile(owning: Int32(made)) }
    guard UnnamedFile.isUnknown(made) else {
      throw BatchError.syscall("create", errno: Int32(-made)).recoded(.unwritable)
    }
    return nil
  }

  private init(owning raw: Int32) {
    name = nil
    file = Descriptor(owning: raw)
    isDiscarded = false
  }

  /// A file of a dry run, of which nothing is written.
  init(discardedIn folder: Int32) throws(BatchError) {
    let raw = fcntl(folder, F_DUPFD_CLOEXEC, 0)
    guard raw >= 0 else { throw BatchError.syscall("create", errno: errno) }
    name = nil
    file = Descriptor(owning: raw)
    isDiscarded = true
  }

  /// - Parameters:
  ///   - folder: an open folder.
  ///   - path: that of the folder below the target.
  ///   - permissions: of the file, less the umask, or as the folder's default list has it.
  ///   - isLocked: whether other runs are kept from taking it for a dead one's while it is written, as a file that takes
  ///     long to write should be.
  init(
    in folder: Int32, _ path: ArraySlice<UInt8>, permissions: UInt32 = 0o600, isLocked: Bool = true,
    among files: StagedFiles
  ) throws(BatchError) {
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    for _ in 0..<Self.attempts {
      let name = TemporaryName()
      let created = files.add(name, in: path) {
        PathBytes(name.bytes).withCString { path in
          retrying { Int(clinux_openat(folder, path, flags, permissions)) }
        }
      }
      if created == Int(-EEXIST) { continue }
      guard created >= 0 else {
        throw BatchError.syscall("create", errno: Int32(-created)).recoded(
          created == -Int(ECANCELED) ? .cancelled : .unwritable)
      }
      let file = Descriptor(owning: Int32(created))
      if isLocked, !Self.isLocked(file.raw) {
        // Whoever took it for a dead run's removes it too.
        _ = PathBytes(name.bytes).withCString { unlinkat(folder, $0, 0) }
        continue
      }
      self.name = name
      self.file = file
      isDiscarded = false
      return
    }
    throw BatchError.syscall("create", errno: EEXIST).recoded(.unwritable)
  }

  /// Locks a file; false when another run took it for a dead one's before. Where locks do not exist nobody else can lock
  /// it either, and it goes without.
  private static func isLocked(_ file: Int32) -> Bool {
    var raw = stat()
    return retrying { Int(flock(file, LOCK_EX | LOCK_NB)) } != Int(-EWOULDBLOCK) && fstat(file, &raw) == 0
      && raw.st_nlink > 0
  }

  var descriptor: Int32 { file.raw }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(BatchError) {
    guard !isDiscarded else { return }
    var rest = bytes
    var place = offset
    while !rest.isEmpty {
      guard let at = off_t(exactly: place) else {
        throw BatchError.syscall("write", errno: EFBIG).recoded(.unwritable)
      }
      let count = retrying { pwrite(file.raw, rest.baseAddress, rest.count, at) }
      guard count > 0 else {
        throw BatchError.syscall("write", errno: count == 0 ? EIO : Int32(truncatingIfNeeded: -count))
          .recoded(.unwritable)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      place += UInt64(count)
    }
  }

  /// Gives the file a size; what was not written is a hole.
  func setSize(_ size: UInt64) throws(BatchError) {
    guard !isDiscarded else { return }
    guard let length = off_t(exactly: size), ftruncate(file.raw, length) == 0 else {
      throw BatchError.syscall("write", errno: off_t(exactly: size) == nil ? EFBIG : errno).recoded(
        .unwritable)
    }
  }

  /// Closes a file that has a temporary name.
  ///
  /// - Parameter folder: that it was made in, below the target.
  consuming func stage(
    in folder: ArraySlice<UInt8>, losses: EntryMetadata.Losses
  ) throws(BatchError) -> StagedFile {
    guard let name else { throw BatchError(.unwritable, "its temporary file has no name") }
    try close()
    return StagedFile(name: name, folder: folder, losses: losses)
  }

  /// Closes the file; some file systems keep an error of writing for that.
  private consuming func close() throws(BatchError) {
    do throws(BatchError) {
      try file.close()
    } catch {
      throw error.recoded(.unwritable)
    }
  }

  /// Closes a file that has no name, and gives it one.
  ///
  /// - Parameters:
  ///   - folder: an open folder.
  ///   - path: that of the folder below the target.
  ///   - files: give it a temporary name where the name is taken; nil for a file that replaces nothing.
  /// - Returns: the temporary name; nil when it has the name that was asked for.
  /// - Throws: `invalid` when the name is taken.
  consuming func link(
    as name: PathBytes, in folder: Int32, _ path: ArraySlice<UInt8>, among files: StagedFiles?
  ) throws(BatchError) -> TemporaryName? {
    let raw = file.raw
    var failed = UnnamedFile.link(raw, as: name, in: folder)
    var temporary: TemporaryName?
    if failed == EEXIST, let files {
      let new = TemporaryName()
      failed = -Int32(
        truncatingIfNeeded: files.add(new, in: path) {
          -Int(UnnamedFile.link(raw, as: PathBytes(new.bytes), in: folder))
        })
      temporary = new
    }
    if failed == ECANCELED { throw BatchError.syscall("create", errno: failed).recoded(.cancelled) }
    guard failed == 0 else { throw Self.failure(failed) }
    do throws(BatchError) {
      try close()
    } catch {
      _ = (temporary.map { PathBytes($0.bytes) } ?? name).withCString { unlinkat(folder, $0, 0) }
      throw error
    }
    return temporary
  }

  /// Gives a file its final name.
  ///
  /// - Throws: `invalid` when the name is taken and may not be replaced.
  static func rename(
    _ old: TemporaryName, in folder: Int32, to name: PathBytes, in target: Int32, replacing: Bool
  ) throws(BatchError) {
    let failed = PathBytes(old.bytes).withCString { old in
      name.withCString { new -> Int32 in
        if replacing { return renameat(folder, old, target, new) == 0 ? 0 : errno }
        let flags = UInt32(bitPattern: clinux_rename_noreplace)
        if clinux_renameat2(folder, old, target, new, flags) == 0 { return 0 }
        guard [ENOSYS, EINVAL, ENOTSUP].contains(errno) else { return errno }
        // A second name is refused where there is one.
        guard linkat(folder, old, target, new, 0) == 0 else { return errno }
        _ = unlinkat(folder, old, 0)
        return 0
      }
    }
    if failed == ENOENT {
      throw BatchError(.unwritable, "its temporary file is gone: another run or program removed it")
    }
    guard failed == 0 else { throw failure(failed) }
  }

  static func failure(_ number: Int32) -> BatchError {
    switch number {
    case EEXIST: BatchError(.invalid, "exists already", remedy: .overwriteFiles)
    case EISDIR, ENOTEMPTY: BatchError(.invalid, "a folder has its name")
    default: BatchError.syscall("create", errno: number).recoded(.unwritable)
    }
  }
}
