import BatchEngine
import CLinux
import Glibc

/// A regular file that is being unpacked; it has no name, or a temporary one, until it is complete.
///
/// Where the file system can, the file has no name at all: nothing is left of it after a `kill -9`.
struct ExtractedFile: ~Copyable {
  private static let attempts = 16

  private let folder: Int32
  private let file: Descriptor
  private let temporary: TemporaryName?
  private let registry: AtomicFileRegistry

  /// - Parameters:
  ///   - folder: has to stay open as long as the file is used.
  ///   - permissions: those of a file that has no name yet; one with a temporary name is its owner's alone.
  init(
    in folder: Int32, permissions: UInt32 = 0o600, registry: AtomicFileRegistry = .shared
  ) throws(BatchError) {
    self.folder = folder
    self.registry = registry
    let unnamed = UnnamedFile.make(in: folder, permissions: permissions)
    if unnamed >= 0 {
      file = Descriptor(owning: Int32(unnamed))
      temporary = nil
      return
    }
    guard UnnamedFile.isUnknown(unnamed) else {
      throw BatchError.syscall("create", errno: Int32(-unnamed)).recoded(.unwritable)
    }
    for _ in 0..<Self.attempts {
      guard let (created, name) = try Self.makeNamed(in: folder, registry: registry) else { continue }
      file = Descriptor(owning: created)
      temporary = name
      return
    }
    throw BatchError.syscall("create", errno: EEXIST).recoded(.unwritable)
  }

  /// Makes and locks a temporary file; nil when another run took it for a dead one's before it was locked.
  private static func makeNamed(
    in folder: Int32, registry: AtomicFileRegistry
  ) throws(BatchError) -> (file: Int32, name: TemporaryName)? {
    let name = TemporaryName()
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let created = registry.add(name, in: folder) {
      PathBytes(name.bytes).withCString { path in
        retrying { Int(clinux_openat(folder, path, flags, 0o600)) }
      }
    }
    guard created >= 0 else {
      throw BatchError.syscall("create", errno: Int32(-created)).recoded(
        created == -Int(ECANCELED) ? .cancelled : .unwritable)
    }
    var raw = stat()
    guard isLocked(Int32(created)), fstat(Int32(created), &raw) == 0, raw.st_nlink > 0 else {
      registry.remove(name, unlinking: true)
      _ = Glibc.close(Int32(created))
      return nil
    }
    return (Int32(created), name)
  }

  /// Locks a file, so that other runs do not take it for a dead one's. Where locks do not exist nobody else can lock it
  /// either, and it goes without.
  private static func isLocked(_ file: Int32) -> Bool {
    retrying { Int(flock(file, LOCK_EX | LOCK_NB)) } != Int(-EWOULDBLOCK)
  }

  deinit {
    if let temporary { registry.remove(temporary, unlinking: true) }
  }

  var descriptor: Int32 { file.raw }

  var isNamed: Bool { temporary != nil }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(BatchError) {
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
    guard let length = off_t(exactly: size), ftruncate(file.raw, length) == 0 else {
      throw BatchError.syscall("write", errno: off_t(exactly: size) == nil ? EFBIG : errno).recoded(
        .unwritable)
    }
  }

  /// Gives the file its name.
  ///
  /// - Throws: `invalid` when the name is taken and may not be replaced.
  /// - Parameter target: where it gets the name; the folder that it was made in by default.
  consuming func publish(
    as name: PathBytes, in target: Int32? = nil, replacing: Bool
  ) throws(BatchError) {
    let target = target ?? folder
    let failed = replacing ? replace(name, in: target) : makeName(name, in: target)
    guard failed == 0 else { throw Self.failure(failed) }
  }

  static func failure(_ number: Int32) -> BatchError {
    switch number {
    case EEXIST: BatchError(.invalid, "exists already", remedy: "see --overwrite")
    case EISDIR, ENOTEMPTY: BatchError(.invalid, "a folder has its name")
    default: BatchError.syscall("create", errno: number).recoded(.unwritable)
    }
  }

  private func makeName(_ name: PathBytes, in target: Int32) -> Int32 {
    guard let temporary else { return UnnamedFile.link(file.raw, as: name, in: target) }
    let flags = UInt32(bitPattern: clinux_rename_noreplace)
    return PathBytes(temporary.bytes).withCString { old in
      name.withCString { new in
        if clinux_renameat2(folder, old, target, new, flags) == 0 { return 0 }
        guard [ENOSYS, EINVAL, ENOTSUP].contains(errno) else { return errno }
        // A second name is refused where there is one; the temporary one goes with this value.
        return linkat(folder, old, target, new, 0) == 0 ? 0 : errno
      }
    }
  }

  private func replace(_ name: PathBytes, in target: Int32) -> Int32 {
    if let temporary { return Self.rename(temporary, in: folder, to: name, in: target) }
    // Files without a name can be given a new one only.
    let step = TemporaryName()
    // Before it has a name that other runs could take for a dead one's.
    guard Self.isLocked(file.raw) else { return EWOULDBLOCK }
    let linked = registry.add(step, in: target) {
      -Int(UnnamedFile.link(file.raw, as: PathBytes(step.bytes), in: target))
    }
    guard linked >= 0 else { return Int32(-linked) }
    defer { registry.remove(step, unlinking: true) }
    return Self.rename(step, in: target, to: name, in: target)
  }

  private static func rename(
    _ old: TemporaryName, in folder: Int32, to name: PathBytes, in target: Int32
  ) -> Int32 {
    PathBytes(old.bytes).withCString { old in
      name.withCString { new in renameat(folder, old, target, new) == 0 ? 0 : errno }
    }
  }
}
