import BatchEngine
import Synchronization

/// The target folder of an extraction. Everything is opened below its descriptor without following symbolic links, so that no
/// file is created elsewhere, even if another user changes the tree meanwhile.
final class ContainedFolder: Sendable {
  private static let slash = UInt8(ascii: "/")

  let path: PathBytes
  let root: OpenFolder
  let area: StagingArea
  let opener: FolderOpener
  /// In a dry run: whether the target folder is missing. Then its parent is open instead.
  private let isMissing: Bool
  /// Folders that were created here; complete only when all lanes have ended.
  private let made = Mutex(MadeFolders())
  /// One folder for each file system, opened before the first output there, because `syncfs(2)` reports errors only from then
  /// on. Nil for a folder that cannot be read.
  private let fileSystems = Mutex<[UInt64: OpenFolder?]>([:])
  /// Hashes of the paths of folders that were cleared.
  private let cleared = Mutex<Set<Int>>([])

  /// - Parameter isDryRun: whether the folder may be missing if its parent exists.
  /// - Throws: the error of opening it.
  init(
    _ path: PathBytes, isDryRun: Bool = false, area: StagingArea = .shared, opener: FolderOpener
  ) throws(BatchError) {
    self.path = path
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
    let missing = ends[first...].map { $0 - folder.startIndex }
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
    var ends = [Int]()
    // Also if a deeper folder cannot be created.
    defer {
      if let last = ends.last {
        made.withLock { $0.insert(folder[..<(folder.startIndex + last)], ends: ends) }
      }
    }
    do throws(BatchError) {
      return try opener.make(folder, below: root, shown: path) { ends.append($0) }
    } catch {
      throw Self.error(error, at: folder)
    }
  }

  /// Whether a path below the target is a folder, with only folders on the way.
  func isFolder(_ folder: ArraySlice<UInt8>) -> Bool {
    let isMade = !folder.isEmpty && made.withLock { $0.contains(folder) }
    return isMade || (try? open(folder, creating: false)) != nil
  }

  /// The folders that this run created. Read after all lanes have ended.
  var madeFolders: MadeFolders { made.withLock { $0 } }

  func hasMade(_ place: RelativePath) -> Bool { made.withLock { $0.contains(place.bytes[...]) } }

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

/// The folders that a run created.
struct MadeFolders: Sendable {
  private(set) var tree = FolderTree()
  private(set) var nodes: Set<FolderTree.Node> = []

  /// - Parameter ends: the offsets in this path at which the paths of created folders end, ascending.
  mutating func insert(_ path: ArraySlice<UInt8>, ends: [Int]) {
    _ = tree.insert(path)
    var ends = ends[...]
    for (end, node) in tree.wayOfLast where end == ends.first {
      nodes.insert(node)
      ends = ends.dropFirst()
    }
  }

  mutating func remove(_ path: ArraySlice<UInt8>) {
    if let node = tree.find(path) { nodes.remove(node) }
  }

  func contains(_ path: ArraySlice<UInt8>) -> Bool {
    tree.find(path).map { nodes.contains($0) } ?? false
  }
}
