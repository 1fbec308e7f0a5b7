import BatchEngine
import CLinux
import Glibc
import Synchronization

/// The folder that an archive is unpacked into; everything is opened below its descriptor and through no
/// symbolic link, so that nothing lands elsewhere, whoever changes the tree meanwhile.
final class ExtractionFolder: Sendable {
  private static let folderFlags = clinux_o_path | O_DIRECTORY | O_NOFOLLOW
  private static let madeMode: mode_t = 0o700
  private static let slash = UInt8(ascii: "/")
  /// In bytes, with room for the longest name; most paths are shorter and one call away from the target folder.
  static let shortHop = 256

  /// A folder that closes when nobody uses it any more.
  private final class OpenFolder: Sendable {
    let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) {
      self.descriptor = descriptor
    }
  }

  let path: PathBytes
  private let root: Descriptor
  /// In a run that makes nothing: whether the target folder is not there. Then the folder that is to hold it is open.
  private let isMissing: Bool
  private let device: UInt64
  /// Folders that were made here; complete when all lanes have come to their end, and not before.
  private let made = Mutex(MadeFolders())
  /// Folders that stay open so that deep ones are opened from them, the one that was used last behind all others.
  private let onTheWay = Mutex<[(path: FolderPath, folder: OpenFolder)]>([])
  private let mostOpen: Int
  /// How many bytes of a path are resolved in one call.
  private let hopLength: Int
  private let hasOneCall = Atomic<Bool>(true)
  /// A descriptor for each file system below, opened before the first output there: `syncfs(2)` reports errors from
  /// then on.
  private let fileSystems = Mutex<[UInt64: Int32]>([:])
  /// Hashes of the paths of folders that were cleared.
  private let cleared = Mutex<Set<Int>>([])

  /// - Parameters:
  ///   - open: how many folders on the way to deep ones may be held open.
  /// - Throws: the error of opening it.
  ///   - isDryRun: whether the folder may be missing, in one that is there.
  init(_ path: PathBytes, holding open: Int = 0, isDryRun: Bool = false) throws(BatchError) {
    self.path = path
    mostOpen = open
    hopLength = open > 0 ? Self.shortHop : Int(PATH_MAX) - 1
    var opened = Self.openTarget(path)
    isMissing = isDryRun && opened == -Int(ENOENT)
    if isMissing { opened = Self.openTarget(path.parent) }
    guard opened >= 0 else { throw .syscall("open the folder", errno: Int32(-opened), path: path) }
    root = Descriptor(owning: Int32(opened))
    var raw = stat()
    device = fstat(root.raw, &raw) == 0 ? UInt64(raw.st_dev) : 0
  }

  private static func openTarget(_ path: PathBytes) -> Int {
    path.withCString { pointer in
      retrying { Int(clinux_openat(AT_FDCWD, pointer, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)) }
    }
  }

  /// Opens a folder below in a run that makes nothing. What is missing of it counts as made.
  ///
  /// - Returns: nil where it is missing.
  /// - Throws: what ``open(_:creating:)`` throws for what is in the way.
  func openIfThere(_ folder: ArraySlice<UInt8>) throws(BatchError) -> Descriptor? {
    if !isMissing {
      if !folder.isEmpty, made.withLock({ $0.contains(folder) }) { return nil }
      do throws(BatchError) {
        return try open(folder, creating: false)
      } catch {
        guard error.errno == ENOENT else { throw error }
      }
    }
    noteMissing(folder)
    return nil
  }

  /// Notes the folders on the way to a missing one that are missing too.
  private func noteMissing(_ folder: ArraySlice<UInt8>) {
    guard !folder.isEmpty else { return }
    let ends = folder.indices.filter { folder[$0] == Self.slash } + [folder.endIndex]
    // Where one is missing, all below it are.
    var (first, last) = (0, ends.count - 1)
    while !isMissing, first < last {
      let middle = (first + last) / 2
      if (try? open(folder[..<ends[middle]], creating: false)) != nil {
        first = middle + 1
      } else {
        last = middle
      }
    }
    let missing = ends[first...].map { $0 - folder.startIndex }
    made.withLock { $0.insert(folder, ends: missing) }
  }

  /// Opens a folder below, for calls that name what is in it.
  ///
  /// - Parameter creating: makes what is missing of it.
  /// - Throws: `invalid` where a link or a file is in the way.
  func open(_ folder: ArraySlice<UInt8>, creating: Bool) throws(BatchError) -> Descriptor {
    if folder.isEmpty { return Descriptor(owning: try check(step(root.raw, ".", Self.folderFlags), folder)) }
    if let found = try openInHops(folder, Self.folderFlags) { return Descriptor(owning: found) }
    // Mostly only the last name is missing.
    if creating, let slash = folder.lastIndex(of: Self.slash),
      let parent = try openInHops(folder[..<slash], Self.folderFlags)
    {
      return Descriptor(
        owning: try openInSteps(folder, Self.folderFlags, creating: true, from: parent, at: slash + 1))
    }
    return Descriptor(owning: try openInSteps(folder, Self.folderFlags, creating: creating))
  }

  /// Whether a path below is a folder, and reached through folders alone.
  func isFolder(_ folder: ArraySlice<UInt8>) -> Bool {
    if !folder.isEmpty, made.withLock({ $0.contains(folder) }) { return true }
    do throws(BatchError) {
      _ = try open(folder, creating: false)
      return true
    } catch {
      return false
    }
  }

  /// The folders that were made in this run; to be asked when no lane makes any more.
  var madeFolders: MadeFolders { made.withLock { $0 } }

  /// Whether a folder was made in this run.
  func hasMade(_ place: RelativePath) -> Bool { made.withLock { $0.contains(place.bytes[...]) } }

  /// Takes a folder that was made in this run for one that is not there any more.
  func forget(_ place: RelativePath) {
    let path = FolderPath(place.bytes[...])
    made.withLock { $0.remove(place.bytes[...]) }
    onTheWay.withLock { open in open.removeAll { path.holds($0.path.bytes) } }
  }

  /// The target folder; it stays open as long as this object is there.
  var rootDescriptor: Int32 { root.raw }

  /// Closes the folders on the way, and returns how many may be open in their place.
  func giveUpFoldersOnTheWay() -> Int {
    let dropped = onTheWay.withLock { open in
      defer { open = [] }
      return open
    }
    // Closed outside the lock.
    _ = dropped
    return mostOpen
  }

  /// Removes what dead runs left in a folder, once in a run. Others wait meanwhile: a file that was staged then has no
  /// lock, and would be taken for one that was left.
  func clear(_ folder: Int32, _ path: ArraySlice<UInt8>) {
    cleared.withLock { cleared in
      guard cleared.insert(path.hashValue).inserted else { return }
      StaleTemporaries.remove(in: folder, path: PathBytes(path))
    }
  }

  deinit {
    for number in fileSystems.withLock({ $0.values }) where number >= 0 { _ = Glibc.close(number) }
  }

  /// Notes the file system of an open folder, which may be another one than that of the target.
  func registerFileSystem(of folder: Int32) {
    var raw = stat()
    guard fstat(folder, &raw) == 0, UInt64(raw.st_dev) != device else { return }
    fileSystems.withLock { known in
      guard known[UInt64(raw.st_dev)] == nil else { return }
      known[UInt64(raw.st_dev)] = step(folder, ".", O_RDONLY | O_DIRECTORY)
    }
  }

  /// Brings all that was written to the disks, also to those of file systems that are mounted below.
  func sync() throws(BatchError) {
    let others = fileSystems.withLock { Array($0.values) }
    // A folder that this user cannot read has no descriptor for the call.
    if others.contains(where: { $0 < 0 }) { Glibc.sync() }
    for number in [root.raw] + others.filter({ $0 >= 0 }) { try sync(number) }
  }

  private func sync(_ fileSystem: Int32) throws(BatchError) {
    let result = retrying { Int(clinux_syncfs(fileSystem)) }
    guard result == 0 else {
      throw BatchError.syscall("sync", errno: Int32(truncatingIfNeeded: -result), path: path)
        .recoded(.unwritable)
    }
  }

  // MARK: Steps

  /// Opens as much of a path in one call as a call takes, from the nearest folder on the way that is open.
  ///
  /// - Returns: nil when it is missing, or when the kernel has no such call.
  private func openInHops(_ folder: ArraySlice<UInt8>, _ flags: Int32) throws(BatchError) -> Int32? {
    var (current, start) = nearest(to: folder)
    while hasOneCall.load(ordering: .relaxed) {
      guard start < folder.endIndex else { return try check(step(raw(current), ".", flags), folder) }
      var end = folder.endIndex
      if end - start > hopLength {
        end =
          folder[start...(start + hopLength)].lastIndex(of: Self.slash)
          ?? folder[start...].firstIndex(of: Self.slash) ?? end
      }
      let hopFlags = end == folder.endIndex ? flags : Self.folderFlags
      let directory = raw(current)
      let result = PathBytes(folder[start..<end]).withCString { pointer in
        retrying { Int(clinux_open_beneath(directory, pointer, hopFlags)) }
      }
      if result == -Int(ENOENT) || result == -Int(EAGAIN) { return nil }
      if result == -Int(ENOSYS) || result == -Int(EPERM) {
        hasOneCall.store(false, ordering: .relaxed)
        return nil
      }
      let opened = try check(Int32(truncatingIfNeeded: result), folder[..<end])
      if end == folder.endIndex { return opened }
      let next = OpenFolder(Descriptor(owning: opened))
      keep(next, folder[..<end])
      current = next
      start = end + 1
    }
    return nil
  }

  /// Opens a path name by name, and makes what is missing.
  ///
  /// - Parameters:
  ///   - base: the folder that holds what begins at `start`, which is closed here; nil for the nearest that is open.
  private func openInSteps(
    _ folder: ArraySlice<UInt8>, _ flags: Int32, creating: Bool, from base: Int32? = nil, at start: Int = 0
  ) throws(BatchError) -> Int32 {
    var (current, begin) =
      base.map { (OpenFolder(Descriptor(owning: $0)), start) } ?? nearest(to: folder)
    var lastKept = begin
    var madeEnds = [Int]()
    // Also when a folder further on cannot be made.
    defer {
      if let last = madeEnds.last {
        made.withLock { $0.insert(folder[..<(folder.startIndex + last)], ends: madeEnds) }
      }
    }
    while begin < folder.endIndex {
      let end = folder[begin...].firstIndex(of: Self.slash) ?? folder.endIndex
      let name = PathBytes(folder[begin..<end])
      begin = end + 1
      let stepFlags = end == folder.endIndex ? flags : Self.folderFlags
      let directory = raw(current)
      // In a folder that was made a moment ago nothing is to be found.
      var next = madeEnds.isEmpty ? step(directory, name, stepFlags) : -ENOENT
      if next == -ENOENT, creating {
        let failed = name.withCString { mkdirat(directory, $0, Self.madeMode) == 0 ? 0 : errno }
        guard failed == 0 || failed == EEXIST else {
          throw BatchError.syscall("make the folder", errno: failed, path: PathBytes(folder[..<end]))
            .recoded(.unwritable)
        }
        if failed == 0 { madeEnds.append(end - folder.startIndex) }
        next = step(directory, name, stepFlags)
      }
      let opened = try check(next, folder[..<end])
      if end == folder.endIndex { return opened }
      let reached = OpenFolder(Descriptor(owning: opened))
      if end - lastKept >= hopLength {
        keep(reached, folder[..<end])
        lastKept = end
      }
      current = reached
    }
    return try check(step(raw(current), ".", flags), folder)
  }

  private func raw(_ folder: OpenFolder?) -> Int32 { folder?.descriptor.raw ?? root.raw }

  // MARK: Folders on the way

  /// The folder on the way to another one, or that one itself, which is open and nearest.
  ///
  /// - Returns: nil for the target folder, and where the rest of the path begins.
  private func nearest(to folder: ArraySlice<UInt8>) -> (OpenFolder?, Int) {
    guard mostOpen > 0, folder.count > hopLength else { return (nil, folder.startIndex) }
    return onTheWay.withLock { open in
      var nearest: Int?
      // The one that was used last is the nearest mostly; what is shorter need not be compared then.
      for index in open.indices.reversed()
      where open[index].path.bytes.count > nearest.map({ open[$0].path.bytes.count }) ?? 0 {
        if open[index].path.holds(folder) { nearest = index }
      }
      guard let index = nearest else { return (nil, folder.startIndex) }
      open.append(open.remove(at: index))
      let found = open[open.endIndex - 1]
      return (found.folder, folder.startIndex + found.path.bytes.count + 1)
    }
  }

  /// Keeps a folder open, in place of the one that was not used for the longest time.
  private func keep(_ folder: OpenFolder, _ path: ArraySlice<UInt8>) {
    guard mostOpen > 0 else { return }
    let path = FolderPath(path)
    // Closed outside the lock.
    var dropped: (path: FolderPath, folder: OpenFolder)?
    onTheWay.withLock { open in
      guard !open.contains(where: { $0.path == path }) else { return }
      if open.count >= mostOpen { dropped = open.removeFirst() }
      open.append((path, folder))
    }
    _ = dropped
  }

  private func step(_ directory: Int32, _ name: PathBytes, _ flags: Int32) -> Int32 {
    name.withCString { pointer in
      Int32(truncatingIfNeeded: retrying { Int(clinux_openat(directory, pointer, flags | O_CLOEXEC, 0)) })
    }
  }

  private func check(_ result: Int32, _ folder: ArraySlice<UInt8>) throws(BatchError) -> Int32 {
    guard result < 0 else { return result }
    throw Self.error(-result, at: folder)
  }

  /// Why a folder below cannot be opened.
  static func error(_ number: Int32, at folder: ArraySlice<UInt8>) -> BatchError {
    let path = PathBytes(folder)
    switch number {
    case ELOOP, ENOTDIR, EXDEV:
      return BatchError(.invalid, "refused: on the way to it is a link or a file, and no folder", path: path)
    default: return BatchError.syscall("open the folder", errno: number, path: path).recoded(.unwritable)
    }
  }
}

/// The path of a folder that shares its bytes with the path of what is in it: 10,000 folders in one another have
/// paths of 100 MB.
struct FolderPath: Equatable, Sendable {
  let bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
  }

  /// Whether another path is this one, or leads through it.
  func holds(_ path: ArraySlice<UInt8>) -> Bool {
    guard path.count >= bytes.count else { return false }
    let end = path.startIndex + bytes.count
    guard end == path.endIndex || path[end] == UInt8(ascii: "/") else { return false }
    return FolderPath(path[..<end]) == self
  }

  static func == (left: FolderPath, right: FolderPath) -> Bool {
    left.bytes.count == right.bytes.count && left.compare(right, left.bytes.count) == 0
  }

  private func compare(_ other: FolderPath, _ count: Int) -> Int32 {
    guard count > 0 else { return 0 }
    return bytes.withUnsafeBytes { left in
      other.bytes.withUnsafeBytes { right in
        guard let left = left.baseAddress, let right = right.baseAddress else { return 0 }
        return memcmp(left, right, count)
      }
    }
  }
}
