import BatchEngine
import BatchOutputs
import Synchronization

/// The target folder of an extraction. Everything is opened below its descriptor without following symbolic links, so that no
/// file is created elsewhere, even if another user changes the tree meanwhile.
final class ContainedFolder: Sendable {
  private static let slash = UInt8(ascii: "/")

  let path: PathBytes
  let root: OpenFolder
  let area: StagingArea
  let opener: FolderOpener
  /// The permissions of new folders that no member describes; nil if they cannot be created with them.
  private let permissions: UInt32?
  /// In a dry run: whether the target folder is missing. Then its parent is open instead.
  let isMissing: Bool
  /// Folders that were created here; complete only when all lanes have ended.
  private let made = Mutex(MadeFolders())
  /// One folder for each file system, opened before the first output there, because `syncfs(2)` reports errors only from then
  /// on. Nil for a folder that cannot be read.
  private let fileSystems = Mutex<[UInt64: OpenFolder?]>([:])
  /// Hashes of the paths of folders that were cleared.
  private let cleared = Mutex<Set<Int>>([])

  /// - Parameters:
  ///   - isDryRun: whether the folder may be missing if its parent exists.
  ///   - permissions: those of new folders that no member describes.
  /// - Throws: the error of opening it.
  init(
    _ path: PathBytes, isDryRun: Bool = false, area: StagingArea = .shared, opener: FolderOpener,
    permissions: UInt32 = AtomicFile.folderPermissions
  ) throws(BatchError) {
    self.path = path
    self.permissions = AtomicFile.creates(folderWith: permissions) ? permissions : nil
    self.opener = opener
    self.area = StagingArea(within: area)
    do throws(BatchError) {
      root = try opener.folder(named: path)
      isMissing = false
    } catch {
      guard isDryRun, error.isNotFound else { throw error }
      isMissing = true
      do throws(BatchError) {
        root = try opener.folder(named: path.parent)
      } catch {
        throw error.at(path)
      }
    }
  }

  /// Opens a folder below the target in a dry run. Missing folders count as created.
  ///
  /// - Returns: nil if it is missing.
  /// - Throws: as ``open(_:creating:)``, if something else is in the way.
  func openIfThere(_ folder: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder? {
    if !isMissing {
      if !folder.isEmpty, made.withLock({ $0.contains(folder) }) { return nil }
      do throws(BatchError) {
        return try open(folder, creating: false)
      } catch {
        guard error.isNotFound else { throw error }
      }
    }
    noteMissing(folder)
    return nil
  }

  /// Records the folders on the way to a missing one that are missing too.
  private func noteMissing(_ folder: ArraySlice<UInt8>) {
    guard !folder.isEmpty else { return }
    let ends = folder.indices.filter { folder[$0] == Self.slash } + [folder.endIndex]
    // If a folder is missing, all below it are missing too.
    var (first, last) = (0, ends.count - 1)
    while !isMissing, first < last {
      let middle = (first + last) / 2
      if (try? open(folder[..<ends[middle]], creating: false)) != nil {
        first = middle + 1
      } else {
        last = middle
      }
    }
    let missing = ends[first...].map { (end: $0 - folder.startIndex, state: MadeFolder.hidden) }
    made.withLock { $0.insert(folder, ends: missing) }
  }

  /// Opens a folder below the target, for calls that create or rename files in it.
  ///
  /// - Parameter creating: creates missing folders.
  /// - Throws: `invalid` if a link or a file is in the way.
  func open(_ folder: ArraySlice<UInt8>, creating: Bool) throws(BatchError) -> OpenFolder {
    // The path for messages is that of the target, because a deep folder has a long path.
    do throws(BatchError) {
      return try opener.folder(folder, below: root, shown: path, isSearched: true)
    } catch {
      guard creating, error.isNotFound else { throw Self.error(error, at: folder) }
    }
    var ends = [(end: Int, state: MadeFolder)]()
    // Also if a deeper folder cannot be created.
    defer {
      if let last = ends.last {
        made.withLock { $0.insert(folder[..<(folder.startIndex + last.end)], ends: ends) }
      }
    }
    do throws(BatchError) {
      return try opener.make(folder, below: root, shown: path, shelters: shelters) { ends.append(($0, $1)) }
    } catch {
      throw Self.error(error, at: folder)
    }
  }

  private var shelters: Shelters {
    Shelters(permissions: permissions) { [self] path in
      made.withLock { made in
        made.tree.find(path).flatMap { made.state(of: $0) }.map { $0 != .hidden } ?? false
      }
    }
  }

  /// A folder below the target that is open, for members that are in it.
  struct Place {
    let path: ArraySlice<UInt8>
    let folder: OpenFolder
    /// Nil if it is not known whether this run created it.
    fileprivate var node: FolderTree.Node?
    /// Whether files may be created in it.
    var isPrepared = false

    init(_ path: ArraySlice<UInt8>, _ folder: OpenFolder) {
      self.path = path
      self.folder = folder
    }
  }

  /// Opens an existing folder in an open one.
  ///
  /// - Returns: nil if it is no folder there.
  func open(_ path: ArraySlice<UInt8>, in outer: Place) -> Place? {
    guard path.count > outer.path.count, FolderPath(outer.path).holds(path) || outer.path.isEmpty else {
      return nil
    }
    let name = outer.path.isEmpty ? path : path.dropFirst(outer.path.count + 1)
    guard !name.contains(Self.slash),
      let opened = try? opener.child(name, of: outer.folder, shown: self.path, isSearched: true)
    else { return nil }
    var place = Place(path, opened)
    if let node = outer.node { place.node = made.withLock { $0.tree.find(Array(name), in: node) } }
    return place
  }

  /// Opens a folder for files in it, and creates it if it is missing: from the last one, if it is in that.
  ///
  /// - Throws: as ``open(_:creating:)``.
  func enter(_ path: ArraySlice<UInt8>, after last: inout Place?) throws(BatchError) -> Place {
    if let last, last.path == path { return last }
    if let inner = last.flatMap({ open(path, in: $0) }) {
      last = inner
      return inner
    }
    last = nil
    let entered = Place(path, try open(path, creating: true))
    last = entered
    return entered
  }

  /// Creates a folder in an open one, unless it exists.
  ///
  /// - Parameter parent: the folder of the place.
  /// - Throws: as ``open(_:creating:)``.
  func makeFolder(_ place: RelativePath, in parent: inout Place) throws(BatchError) {
    let (name, outer, path) = (place.name, parent.folder, parent.path)
    var node = parent.node
    var state = made.withLock { made in
      node = node ?? made.tree.find(path)
      return node.flatMap { made.state(of: $0) }
    }
    if state == .hidden, permissions != nil, outer.isShelter { state = .shelter }
    let isSheltered = state == .shelter || state == .final
    let new: MadeFolder?
    do throws(BatchError) {
      new = try opener.makeFolder(
        name.bytes[...], in: outer.raw, permissions: isSheltered ? permissions : nil)
    } catch {
      // Some file systems report this for an existing folder.
      if (try? checkFolder(name, in: outer)) != nil { return }
      throw Self.error(error, at: place.bytes[...])
    }
    guard let new else {
      do throws(BatchError) { return try checkFolder(name, in: outer) } catch {
        throw Self.error(error, at: place.bytes[...])
      }
    }
    parent.node = made.withLock { made in
      let node = made.insert(name.bytes, new, in: node, path)
      if state == .shelter, made.state(of: node) == .hidden { made.set(.shelter, of: node) }
      return node
    }
  }

  private func checkFolder(_ name: PathBytes, in folder: OpenFolder) throws(BatchError) {
    _ = try opener.child(name.bytes[...], of: folder, shown: path, isSearched: true)
  }

  /// Whether a path below the target is a folder, with only folders on the way.
  func isFolder(_ folder: ArraySlice<UInt8>) -> Bool {
    let isMade = !folder.isEmpty && made.withLock { $0.contains(folder) }
    return isMade || (try? open(folder, creating: false)) != nil
  }

  /// The folders that this run created. Read after all lanes have ended.
  var madeFolders: MadeFolders { made.withLock { $0 } }

  func hasMade(_ place: RelativePath) -> Bool { hasMade(place.bytes[...]) }

  func hasMade(_ path: ArraySlice<UInt8>) -> Bool { made.withLock { $0.contains(path) } }

  /// Removes the record of a created folder, after the folder was removed.
  func forget(_ place: RelativePath) {
    made.withLock { $0.remove(place.bytes[...]) }
    opener.forget(place.bytes[...], below: root)
  }

  /// Removes stale temporary files from a folder, once in a run.
  func clear(_ folder: OpenFolder, _ path: ArraySlice<UInt8>) {
    guard cleared.withLock({ $0.insert(path.hashValue).inserted }) else { return }
    StaleTemporaries.remove(in: folder, sparing: area)
  }

  /// Records the file system of an open folder, which may differ from that of the target.
  func registerFileSystem(of folder: OpenFolder) {
    let device = folder.identity.device
    guard device != root.identity.device, fileSystems.withLock({ $0[device] == nil }) else { return }
    let readable = try? folder.readable()
    fileSystems.withLock { known in
      if known[device] == nil { known[device] = .some(readable) }
    }
  }

  /// Syncs all file systems on which files were created, including those mounted below the target.
  func sync() throws(BatchError) {
    let others = fileSystems.withLock { Array($0.values) }
    // A folder that this user cannot read provides no descriptor for syncfs(2).
    if others.contains(where: { $0 == nil }) { root.calls.syncAll() }
    for folder in [root] + others.compactMap({ $0 }) {
      let result = folder.calls.syncFileSystem(of: folder.raw)
      guard result == 0 else {
        throw BatchError.syscall("sync", errno: -result, path: path).recoded(.unwritable)
      }
    }
  }

  /// The error for a folder below the target that cannot be opened or created.
  static func error(_ error: BatchError, at folder: ArraySlice<UInt8>) -> BatchError {
    let path = error.path ?? PathBytes(folder)
    guard error.isNoFolder else { return error.recoded(.unwritable).at(path) }
    return BatchError(.invalid, "refused: on the way to it is a link or a file, and no folder", path: path)
  }
}

extension ContainedFolder: StagedFolder.Opener {
  func openFolder(_ path: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder {
    try open(path, creating: false)
  }
}
