import BatchEngine
import Synchronization

/// The folder that an archive is unpacked into; everything is opened below its descriptor and through no
/// symbolic link, so that nothing lands elsewhere, even when another user changes the tree meanwhile.
final class ContainedFolder: Sendable {
  private static let slash = UInt8(ascii: "/")

  let path: PathBytes
  /// The target folder.
  let root: OpenFolder
  /// The temporary files below.
  let area: StagingArea
  let opener: FolderOpener
  /// In a run that makes nothing: whether the target folder is not there. Then the folder that is to hold it is open.
  private let isMissing: Bool
  /// Folders that were made here; complete only when all lanes have ended.
  private let made = Mutex(MadeFolders())
  /// A folder on each file system below, opened before the first output there: `syncfs(2)` reports errors from then on. Nil
  /// for a folder that cannot be read.
  private let fileSystems = Mutex<[UInt64: OpenFolder?]>([:])
  /// Hashes of the paths of folders that were cleared.
  private let cleared = Mutex<Set<Int>>([])

  /// - Parameter isDryRun: whether the folder may be missing, in one that is there.
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
        guard error.isNotFound else { throw error }
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
    // Its path is that of the target, since that of a deep folder is long.
    do throws(BatchError) {
      return try opener.folder(folder, below: root, shown: path, isSearched: true)
    } catch {
      guard creating, error.isNotFound else { throw Self.error(error, at: folder) }
    }
    var ends = [Int]()
    // Also when a folder further on cannot be made.
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
    made.withLock { $0.remove(place.bytes[...]) }
    opener.forget(place.bytes[...], below: root)
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
    let readable = try? folder.readable()
    fileSystems.withLock { known in
      if known[device] == nil { known[device] = .some(readable) }
    }
  }

  /// Brings all that was written to the disks, also to those of file systems that are mounted below.
  func sync() throws(BatchError) {
    let others = fileSystems.withLock { Array($0.values) }
    // A folder that this user cannot read has no descriptor for the call.
    if others.contains(where: { $0 == nil }) { root.calls.syncAll() }
    for folder in [root] + others.compactMap({ $0 }) {
      let result = folder.calls.syncFileSystem(of: folder.raw)
      guard result == 0 else {
        throw BatchError.syscall("sync", errno: -result, path: path).recoded(.unwritable)
      }
    }
  }

  /// Why a folder below cannot be opened or made.
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
