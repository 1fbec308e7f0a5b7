import BatchEngine
import Synchronization

/// Opens the folders of a run that writes one output for each source, and prepares each before its first output.
///
/// A source's folder is opened below its operand, without following symbolic links, and must be the inode that the walk listed.
/// The source is read and removed through its descriptor, and the output is looked up, written and committed through it. So
/// another user cannot redirect a run by replacing folders or links of the tree. The same rules apply below an output
/// directory.
package final class OutputFolders: Sendable {
  let devices: SyncDevices
  /// The calls that rename outputs and sync their folders.
  package let commits: any CommitCalls
  /// The calls that open folders and look up outputs.
  package var calls: any FileSystemCalls { opener.calls }
  private let opener: FolderOpener
  private let mirrored: MirroredFolders?
  private let isSynced: Bool
  /// Folders from which the temporary files of killed runs were removed.
  private let cleared = Mutex<Set<FileIdentity>>([])

  /// - Parameters:
  ///   - directory: the folder into which all outputs are mirrored; nil puts each output beside its source.
  ///   - isSynced: whether outputs are synced to the disk.
  ///   - kept: how many folders may be kept open to sync their file systems; 0 syncs each output by itself.
  ///   - opener: opens folders with the calls of the run.
  package init(
    mirroredInto directory: PathBytes?, isSynced: Bool, kept: Int, opener: FolderOpener,
    commits: any CommitCalls = LinuxCommitCalls()
  ) {
    self.opener = opener
    self.commits = commits
    self.isSynced = isSynced
    devices = SyncDevices(limit: kept)
    mirrored = directory.map { MirroredFolders($0, opener, commits) }
  }

  /// Opens the folder of a source, and the folder of its output if that exists.
  ///
  /// - Parameter last: the place of the previous source, which usually is the same folder or above it. Otherwise it is closed
  ///   before another one is opened.
  /// - Throws: `vanished` or `changed` if the folder is gone or replaced, with the source's path.
  package func place(of record: FileRecord, after last: inout OutputPlace?) throws(BatchError) -> OutputPlace
  {
    if let last, last.holds(record) { return last }
    if last?.isAbove(record.directory) != true { last = nil }
    let source: OpenFolder
    do throws(BatchError) {
      source = try openSource(record, below: last)
    } catch {
      // An operand that does not exist is missing; a listed path that does not exist has vanished.
      let isListed = record.directory.identity != nil && error.code == .missing
      throw (isListed ? error.recoded(.vanished) : error).at(record.path)
    }
    let target = if let mirrored { try mirrored.open(record.directory) } else { source as OpenFolder? }
    let place = OutputPlace(
      directory: record.directory, source: source, target: target, followsLinks: record.followsLinks)
    last = place
    return place
  }

  func place(of record: FileRecord) throws(BatchError) -> OutputPlace {
    var last: OutputPlace?
    return try place(of: record, after: &last)
  }

  /// Prepares the folder of an output before the first one is written there: creates it if outputs are mirrored, and removes
  /// temporary files of killed runs.
  ///
  /// - Parameter syncsNames: syncs the names of created folders.
  /// - Throws: `unwritable` when it cannot be created.
  package func prepare(_ place: OutputPlace, syncsNames: Bool = false) throws(BatchError) -> OutputPlace {
    if place.isPrepared { return place }
    var place = place
    place.isPrepared = true
    if let mirrored {
      place.target = try mirrored.make(place) { folder throws(BatchError) in
        guard isSynced else { return false }
        devices.note(folder)
        guard case .each = devices.way(for: folder) else { return syncsNames }
        return true
      }
    }
    guard let target = place.target else { return place }
    if isSynced { devices.note(target) }
    if !target.isNew, cleared.withLock({ $0.insert(target.identity).inserted }) {
      // A failed removal does not prevent the output: a later run tries again.
      StaleTemporaries.remove(in: target)
    }
    return place
  }

  /// Records a folder before the first output is written there, so that its file system can be synced.
  package func note(_ folder: OpenFolder) {
    guard isSynced, !devices.knows(folder) else { return }
    // Files are created through descriptors that only look up names, and those cannot sync.
    let readable = try? folder.readable()
    devices.note(readable ?? folder, canSync: readable != nil)
  }

  /// Sets the permissions of created folders to those of the source folders, after the last output, and closes folders that
  /// were kept open.
  ///
  /// - Returns: one error for each folder that failed.
  package func finish() -> [BatchError] {
    let failures = mirrored?.finish() ?? []
    devices.close()
    return failures
  }

  // MARK: The folders of sources

  private func openSource(_ record: FileRecord, below last: OutputPlace?) throws(BatchError) -> OpenFolder {
    let directory = record.directory
    if directory.identity == nil || (record.followsLinks && directory.depth > 0) {
      // A folder that the user named, or a walk that follows links.
      return try checked(opener.folder(named: directory.openPath), directory)
    }
    let base: OpenFolder
    var names = directory.relativePrefix
    if let last, last.isAbove(directory) {
      base = last.source
      names = directory.prefix.bytes[last.directory.prefix.bytes.count...]
    } else {
      base = try opener.operand(of: directory)
    }
    do throws(BatchError) {
      return try checked(opener.folder(names, below: base, shown: directory.openPath), directory)
    } catch {
      if error.isNoFolder { throw Self.exchanged }
      throw error.isNotFound ? error.recoded(.vanished) : error
    }
  }

  private func checked(_ folder: OpenFolder, _ directory: DirectoryPath) throws(BatchError) -> OpenFolder {
    guard directory.identity == nil || directory.identity == folder.identity else { throw Self.exchanged }
    return folder
  }

  private static let exchanged = BatchError(
    .changed, "lies in a folder that was replaced while the tree was read")
}
