import CLinux
import Glibc

/// Opens folders for reading, writing and comparing. A folder that the user named is opened by its path; every other one is
/// opened below an open folder, without following a symbolic link.
///
/// Folders along the way to deep ones stay open, up to the limit.
package struct FolderOpener: Sendable {
  /// How a path is resolved.
  enum Way {
    case following
    /// Without following a link: in one call if the kernel has `openat2(2)`, otherwise name by name. Mount points may be crossed.
    case beneath
    case nameByName
  }

  /// PATH_MAX counts the NUL: one byte less is the longest path of one call.
  static let longestPath = Int(PATH_MAX) - 1
  /// In bytes, with room for the longest name. Most paths are shorter and need one call.
  package static let hopLength = 256
  private static let slash = UInt8(ascii: "/")
  static let place = clinux_o_path | O_DIRECTORY
  static let listed = O_RDONLY | O_DIRECTORY | O_NONBLOCK

  package let calls: any FileSystemCalls
  /// Nil if no folder stays open.
  private let held: HeldFolders?

  package init(calls: any FileSystemCalls, holding held: HeldFolders? = nil) {
    self.calls = calls
    self.held = held.flatMap { $0.limit > 0 ? $0 : nil }
  }

  // MARK: By path

  /// Opens the folder at a path, which may be longer than the kernel accepts in one call.
  ///
  /// - Parameter followingLast: whether the last name may be a symbolic link.
  /// - Throws: the error of `openat(2)`.
  package func open(_ path: PathBytes, followingLast: Bool) throws(BatchError) -> Descriptor {
    let flags = followingLast ? Self.listed : Self.listed | O_NOFOLLOW
    return try open(path.bytes[...], at: nil, flags, .following)
  }

  /// Opens a folder that the user named; links are followed.
  ///
  /// - Throws: the error of the call, with the path.
  package func folder(named path: PathBytes) throws(BatchError) -> OpenFolder {
    do throws(BatchError) {
      return try OpenFolder(open(path, followingLast: true), path: path, calls: calls)
    } catch {
      throw error.at(path)
    }
  }

  /// Opens a folder from which others are opened, so it stays open.
  package func base(named path: PathBytes) throws(BatchError) -> OpenFolder {
    if let known = held?.folder(for: .named(path)) { return known }
    let folder = try folder(named: path)
    held?.keep(folder, for: .named(path))
    return folder
  }

  // MARK: Below a folder

  /// Opens a folder below an open one.
  ///
  /// - Parameters:
  ///   - names: the relative path, without `.` and `..`; empty for the folder itself.
  ///   - isSearched: whether names are only looked up in the folder, which needs no permission to list it.
  /// - Throws: the error of the call: `ELOOP` or `ENOTDIR` if a link or a file is on the way.
  func open(
    _ names: ArraySlice<UInt8>, below base: OpenFolder, isSearched: Bool = false
  ) throws(BatchError) -> Descriptor {
    let flags = isSearched ? Self.place : Self.listed
    return try open(Self.trimmed(names), at: base, flags | O_NOFOLLOW, .beneath)
  }

  /// Opens a folder below a root, starting at the nearest folder that is held open.
  ///
  /// - Parameters:
  ///   - path: relative to the root; empty for the root itself.
  ///   - shown: the path in messages.
  ///   - isNew: whether this run created the folder.
  package func folder(
    _ path: ArraySlice<UInt8>, below root: OpenFolder, shown: PathBytes, isSearched: Bool = false,
    isNew: Bool = false
  ) throws(BatchError) -> OpenFolder {
    let path = Self.trimmed(path)
    var (current, start) = nearest(to: path, below: root, includingIt: isSearched)
    while start < path.endIndex {
      let end = endOfHop(in: path, from: start)
      let isLast = end == path.endIndex
      current = try OpenFolder(
        open(path[start..<end], below: current, isSearched: isSearched || !isLast), path: shown,
        isNew: isNew && isLast, calls: calls)
      if !isLast { keep(current, path[..<end], below: root) }
      start = end + 1
    }
    return current
  }

  /// Opens a folder in an open one, not through a link.
  ///
  /// - Parameter name: a single name, which may be `..`.
  package func child(
    _ name: ArraySlice<UInt8>, of parent: OpenFolder, shown: PathBytes, isSearched: Bool = false
  ) throws(BatchError) -> OpenFolder {
    let flags = isSearched ? Self.place : Self.listed
    return try OpenFolder(
      open(name, at: parent, flags | O_NOFOLLOW, .nameByName), path: shown, calls: calls)
  }

  /// Creates a folder below another one, and the missing folders on the way.
  ///
  /// - Parameters:
  ///   - shelters: which folders are shelters, and the permissions of the folders in them.
  ///   - made: receives, for each created folder, the number of bytes of its path, and its state.
  /// - Throws: the error of creating or opening a folder, with its path relative to the root.
  package func make(
    _ path: ArraySlice<UInt8>, below root: OpenFolder, shown: PathBytes, shelters: Shelters = Shelters(),
    made: (Int, MadeFolder) -> Void
  ) throws(BatchError) -> OpenFolder {
    var (current, start) = nearest(to: path, below: root, includingIt: true)
    // Usually few names at the end are missing: the folders 1, 3, 7, 15 levels above are tried.
    var (end, step) = (path.endIndex, 1)
    search: while true {
      for _ in 0..<step {
        guard let slash = path[..<end].lastIndex(of: Self.slash), slash > start else { break search }
        end = slash
      }
      if let parent = try? folder(path[..<end], below: root, shown: shown, isSearched: true) {
        (current, start) = (parent, end + 1)
        break
      }
      step *= 2
    }
    // Below `current`: a folder that needs no examination.
    var inner: Descriptor?
    var isShelter = start > path.startIndex && shelters.contains(path[..<(start - 1)])
    // Folders in a shelter inherit no list.
    var lists: OpenFolder.ListsOfNewFiles?
    var lastKept = start
    while start < path.endIndex {
      let end = path[start...].firstIndex(of: Self.slash) ?? path.endIndex
      let isKept = end < path.endIndex && end - lastKept >= Self.hopLength
      let state: MadeFolder?
      do throws(BatchError) {
        let name = path[start..<end]
        state = try makeFolder(
          name, in: inner?.raw ?? current.raw, permissions: isShelter ? shelters.permissions : nil)
        let opened = try open(
          name, at: current, owning: inner.take(), Self.place | O_NOFOLLOW, .nameByName)
        if state == .final, end < path.endIndex, !isKept {
          inner = consume opened
        } else {
          current = try OpenFolder(
            opened, path: shown, isNew: state != nil, listsOfNewFiles: state == .final ? lists : nil,
            calls: calls)
        }
      } catch {
        throw error.at(PathBytes(path[..<end]))
      }
      if state != .final { isShelter = state == .hidden && shelters.permissions != nil && current.isShelter }
      if isShelter, state == .hidden { lists = current.listsOfNewFiles }
      if let state { made(end - path.startIndex, isShelter && state == .hidden ? .shelter : state) }
      if isKept {
        keep(current, path[..<end], below: root)
        lastKept = end
      }
      start = end + 1
    }
    return current
  }

  /// Creates a folder in an open one.
  ///
  /// - Parameter permissions: those of a folder in a shelter; nil for one that only its owner may enter.
  /// - Returns: its state; nil if something has the name already.
  package func makeFolder(
    _ name: ArraySlice<UInt8>, in folder: Int32, permissions: UInt32? = nil
  ) throws(BatchError) -> MadeFolder? {
    let failed = -calls.makeFolder(PathBytes(name), in: folder, permissions: permissions ?? 0o700)
    guard failed == 0 || failed == EEXIST else { throw .syscall("make the folder", errno: failed) }
    return failed == 0 ? permissions == nil ? .hidden : .final : nil
  }

  /// Creates a folder for its owner only, or opens the existing one.
  package func make(
    _ name: ArraySlice<UInt8>, in folder: OpenFolder, shown: PathBytes
  ) throws(BatchError) -> OpenFolder {
    let state = try makeFolder(name, in: folder.raw)
    return try OpenFolder(open(name, below: folder), path: shown, isNew: state != nil, calls: calls)
  }

  /// Closes a held folder below another one, and all held folders below it.
  package func forget(_ path: ArraySlice<UInt8>, below root: OpenFolder) {
    held?.drop(at: FolderPath(path), below: root.identity)
  }

  /// Closes the folders that are held, for a caller that keeps its own open instead, after all lanes have ended.
  ///
  /// - Returns: how many folders the caller may keep open.
  package func giveUpHeld() -> Int {
    held?.closeAll()
    return held?.limitAlone ?? 0
  }

  // MARK: Hops

  private func endOfHop(in path: ArraySlice<UInt8>, from start: Int) -> Int {
    guard held != nil, path.endIndex - start > Self.hopLength else { return path.endIndex }
    return path[start...(start + Self.hopLength)].lastIndex(of: Self.slash)
      ?? path[start...].firstIndex(of: Self.slash) ?? path.endIndex
  }

  /// The nearest held folder on the way, and where the rest of the path begins.
  private func nearest(
    to path: ArraySlice<UInt8>, below root: OpenFolder, includingIt: Bool
  ) -> (OpenFolder, Int) {
    guard path.count > Self.hopLength,
      let found = held?.nearest(to: path, below: root.identity, includingIt: includingIt)
    else { return (root, path.startIndex) }
    return (found.folder, path.startIndex + found.length + 1)
  }

  private func keep(_ folder: OpenFolder, _ path: ArraySlice<UInt8>, below root: OpenFolder) {
    held?.keep(folder, for: .below(root.identity, FolderPath(path)))
  }

  static func trimmed(_ path: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var path = path
    while path.last == slash { path = path.dropLast() }
    return path
  }

  // MARK: Steps

  /// Opens a path, in several calls if it is long.
  ///
  /// - Parameters:
  ///   - base: nil for the working folder.
  ///   - owner: used instead of `base` if given, and closed after the first call.
  ///   - flags: for the last folder; folders on the way are opened with `O_PATH`.
  func open(
    _ path: ArraySlice<UInt8>, at base: OpenFolder?, owning owner: consuming Descriptor? = nil,
    _ flags: Int32, _ way: Way
  ) throws(BatchError) -> Descriptor {
    var way = way
    var rest = path
    while true {
      let end = try Self.endOfCall(rest, way)
      let next = rest[end...].drop { $0 == Self.slash }
      let isLast = next.isEmpty
      let piece = end == rest.startIndex ? "." : PathBytes(rest[..<end])
      let folder = owner?.raw ?? base?.raw ?? AT_FDCWD
      let number = piece.withCString {
        switch way {
        case .following: calls.open($0, at: folder, flags: isLast ? flags : Self.place)
        case .beneath: calls.openBeneath($0, at: folder, flags: isLast ? flags : Self.place | O_NOFOLLOW)
        case .nameByName: calls.open($0, at: folder, flags: isLast ? flags : Self.place | O_NOFOLLOW)
        }
      }
      // EPERM: a seccomp filter does not know this call.
      if way == .beneath, [-ENOSYS, -EPERM, -EAGAIN].contains(number) {
        way = .nameByName
        continue
      }
      guard number >= 0 else {
        // The other calls report a link as ENOTDIR.
        throw .syscall("open the folder", errno: way == .beneath && number == -ELOOP ? ENOTDIR : -number)
      }
      owner = Descriptor(owning: number)
      rest = next
      if isLast, let folder = owner.take() { return folder }
    }
  }

  /// Where the part of a path ends that one call can open.
  private static func endOfCall(_ path: ArraySlice<UInt8>, _ way: Way) throws(BatchError) -> Int {
    if way == .nameByName { return path.firstIndex(of: slash) ?? path.endIndex }
    guard path.count > longestPath else { return path.endIndex }
    // A single name never exceeds NAME_MAX.
    guard let end = path.prefix(longestPath).lastIndex(of: slash), end > path.startIndex else {
      throw .syscall("open the folder", errno: ENAMETOOLONG)
    }
    return end
  }
}
