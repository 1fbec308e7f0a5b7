import BatchEngine
import CLinux
import Glibc
import Synchronization

/// The folder that an archive is unpacked into; everything is opened below its descriptor and through no
/// symbolic link, so that nothing lands elsewhere, whoever changes the tree meanwhile.
final class ExtractionFolder: Sendable {
  private static let madeMode: mode_t = 0o700
  private static let slash = UInt8(ascii: "/")
  /// In bytes, with room for the longest name; most paths are shorter and one call away from the target folder.
  static let shortHop = 256

  let path: PathBytes
  /// The target folder.
  let root: OpenFolder
  /// The temporary files below.
  let area: StagingArea
  private let opener: DirectoryOpener
  /// In a run that makes nothing: whether the target folder is not there. Then the folder that is to hold it is open.
  private let isMissing: Bool
  /// Folders that were made here; complete when all lanes have come to their end, and not before.
  private let made = Mutex(MadeFolders())
  /// Folders that stay open so that deep ones are opened from them, the one that was used last behind all others.
  private let onTheWay = Mutex<[(path: FolderPath, folder: OpenFolder)]>([])
  private let mostOpen: Int
  /// How many bytes of a path are resolved in one call.
  private let hopLength: Int
  /// A folder on each file system below, opened before the first output there: `syncfs(2)` reports errors from then on. Nil
  /// for a folder that cannot be read.
  private let fileSystems = Mutex<[UInt64: OpenFolder?]>([:])
  /// Hashes of the paths of folders that were cleared.
  private let cleared = Mutex<Set<Int>>([])

  /// - Parameters:
  ///   - open: how many folders on the way to deep ones may be held open.
  ///   - isDryRun: whether the folder may be missing, in one that is there.
  /// - Throws: the error of opening it.
  init(
    _ path: PathBytes, holding open: Int = 0, isDryRun: Bool = false, area: StagingArea = .shared,
    calls: any FileSystemCalls
  ) throws(BatchError) {
    self.path = path
    opener = DirectoryOpener(calls: calls)
    self.area = StagingArea(within: area)
    mostOpen = open
    hopLength = open > 0 ? Self.shortHop : Int(PATH_MAX) - 1
    do throws(BatchError) {
      root = try Self.open(path, opener)
      isMissing = false
    } catch {
      guard isDryRun, error.errno == ENOENT else { throw error.at(path) }
      isMissing = true
      do throws(BatchError) {
        root = try Self.open(path.parent, opener)
      } catch {
        throw error.at(path)
      }
    }
  }

  private static func open(_ path: PathBytes, _ opener: DirectoryOpener) throws(BatchError) -> OpenFolder {
    try OpenFolder(try opener.open(path, followingLast: true), path: path, calls: opener.calls)
  }

  /// Opens a folder below in a run that makes nothing. What is missing of it counts as made.
  ///
  /// - Returns: nil where it is missing.
  /// - Throws: what ``open(_:creating:)`` throws for what is in the way.
  func openIfThere(_ folder: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder? {
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
  func open(_ folder: ArraySlice<UInt8>, creating: Bool) throws(BatchError) -> OpenFolder {
    if let found = try openInHops(folder) { return found }
    // Mostly only the last name is missing.
    if creating, let slash = folder.lastIndex(of: Self.slash), let parent = try openInHops(folder[..<slash]) {
      return try openInSteps(folder, creating: true, from: parent, at: slash + 1)
    }
    let (base, start) = nearest(to: folder)
    return try openInSteps(folder, creating: creating, from: base, at: start)
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

  /// Removes what dead runs left in a folder, once in a run.
  func clear(_ folder: OpenFolder, _ path: ArraySlice<UInt8>) {
    guard cleared.withLock({ $0.insert(path.hashValue).inserted }) else { return }
    StaleTemporaries.remove(in: folder, sparing: area)
  }

  /// Notes the file system of an open folder, which may be another one than that of the target.
  func registerFileSystem(of folder: OpenFolder) {
    let device = folder.identity.device
    guard device != root.identity.device, fileSystems.withLock({ $0[device] == nil }) else { return }
    let opened = folder.open(".", flags: O_RDONLY | O_DIRECTORY)
    let readable =
      opened < 0
      ? nil
      : OpenFolder(Descriptor(owning: opened), path: path, status: folder.status, calls: folder.calls)
    fileSystems.withLock { known in
      if known[device] == nil { known[device] = .some(readable) }
    }
  }

  /// Brings all that was written to the disks, also to those of file systems that are mounted below.
  func sync() throws(BatchError) {
    let others = fileSystems.withLock { Array($0.values) }
    // A folder that this user cannot read has no descriptor for the call.
    if others.contains(where: { $0 == nil }) { Glibc.sync() }
    for folder in [root] + others.compactMap({ $0 }) {
      let result = folder.calls.syncFileSystem(of: folder.raw)
      guard result == 0 else {
        throw BatchError.syscall("sync", errno: -result, path: path).recoded(.unwritable)
      }
    }
  }

  // MARK: Steps

  /// Opens as much of a path in one call as a call takes, from the nearest folder on the way that is open.
  ///
  /// - Returns: nil when it is missing.
  private func openInHops(_ folder: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder? {
    var (current, start) = nearest(to: folder)
    while start < folder.endIndex {
      var end = folder.endIndex
      if end - start > hopLength {
        end =
          folder[start...(start + hopLength)].lastIndex(of: Self.slash)
          ?? folder[start...].firstIndex(of: Self.slash) ?? end
      }
      do throws(BatchError) {
        current = try self.folder(
          try opener.open(folder[start..<end], below: current.raw, isSearched: true))
      } catch {
        if error.errno == ENOENT { return nil }
        throw Self.error(error.errno, at: folder[..<end])
      }
      if end < folder.endIndex { keep(current, folder[..<end]) }
      start = end + 1
    }
    return current
  }

  /// Opens a path name by name, and makes what is missing.
  ///
  /// - Parameter base: the folder that holds what begins at `start`.
  private func openInSteps(
    _ folder: ArraySlice<UInt8>, creating: Bool, from base: OpenFolder, at start: Int
  ) throws(BatchError) -> OpenFolder {
    var (current, begin) = (base, start)
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
      // In a folder that was made a moment ago nothing is to be found.
      var next = madeEnds.isEmpty ? step(name, in: current) : -ENOENT
      if next == -ENOENT, creating {
        let failed = -opener.calls.makeFolder(name, in: current.raw, permissions: Self.madeMode)
        guard failed == 0 || failed == EEXIST else {
          throw BatchError.syscall("make the folder", errno: failed, path: PathBytes(folder[..<end]))
            .recoded(.unwritable)
        }
        if failed == 0 { madeEnds.append(end - folder.startIndex) }
        next = step(name, in: current)
      }
      guard next >= 0 else { throw Self.error(-next, at: folder[..<end]) }
      current = try self.folder(Descriptor(owning: next))
      if end < folder.endIndex, end - lastKept >= hopLength {
        keep(current, folder[..<end])
        lastKept = end
      }
    }
    return current
  }

  private func step(_ name: PathBytes, in folder: OpenFolder) -> Int32 {
    folder.open(name, flags: clinux_o_path | O_DIRECTORY)
  }

  /// Its path is that of the target, since that of a deep folder is long.
  private func folder(_ descriptor: consuming Descriptor) throws(BatchError) -> OpenFolder {
    try OpenFolder(descriptor, path: path, calls: opener.calls)
  }

  // MARK: Folders on the way

  /// The folder on the way to another one, or that one itself, which is open and nearest.
  ///
  /// - Returns: the folder, and where the rest of the path begins.
  private func nearest(to folder: ArraySlice<UInt8>) -> (OpenFolder, Int) {
    guard mostOpen > 0, folder.count > hopLength else { return (root, folder.startIndex) }
    return onTheWay.withLock { open in
      var nearest: Int?
      // The one that was used last is the nearest mostly; what is shorter need not be compared then.
      for index in open.indices.reversed()
      where open[index].path.bytes.count > nearest.map({ open[$0].path.bytes.count }) ?? 0 {
        if open[index].path.holds(folder) { nearest = index }
      }
      guard let index = nearest else { return (root, folder.startIndex) }
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

extension ExtractionFolder: StagedFolder.Opener {
  func openFolder(_ path: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder {
    try open(path, creating: false)
  }
}
