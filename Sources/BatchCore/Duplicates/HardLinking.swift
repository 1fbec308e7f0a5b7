import BatchEngine
import BatchOutputs
import var Glibc.EAGAIN
import var Glibc.EMLINK
import var Glibc.EXDEV

/// Turns copies into further names of one file: creates a link under a temporary name and renames it over the copy. The folder of
/// the copy is opened below its operand, without following links.
final class HardLinking: CopyLinking {
  /// Folders and files open at once.
  private static let descriptors = 4

  private let context: CollectorContext
  private let folders: OutputFolders
  private let isSynced: Bool
  private var last: OutputPlace?
  private var lastKept: OutputPlace?
  /// Synced file systems, each with the error of the sync.
  private var synced: [UInt64: BatchError?] = [:]

  init(_ context: CollectorContext, isSynced: Bool) {
    self.context = context
    self.isSynced = isSynced
    folders = OutputFolders(mirroredInto: nil, isSynced: false, kept: 0, opener: context.folders)
  }

  func link(_ copy: DuplicateFile, to kept: KeptFile) throws(BatchError) -> LinkOutcome.Reason? {
    guard let names = Self.names(of: copy) else { return .furtherNames }
    return try context.withDescriptors(Self.descriptors) { () throws(BatchError) in
      let place = try folders.place(of: kept.file.record, after: &lastKept)
      // The copy may be on the disk while the kept file is only in memory.
      if isSynced {
        do throws(BatchError) {
          try sync(place.source)
        } catch {
          throw error.at(copy.path)
        }
      }
      for (index, name) in names.enumerated() {
        let reason = try withFile(kept, in: place.source) { (file) throws(BatchError) in
          try replace(name, isFirst: index == 0, by: file, kept)
        }
        if let reason { return reason }
      }
      return nil
    }
  }

  private func withFile<Result>(
    _ kept: KeptFile, in folder: OpenFolder, _ body: (Int32) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    try kept.withFile(hasAttributes: true, calls: context.calls) { () throws(BatchError) in
      do throws(BatchError) {
        return try folder.openFile(PathBytes(kept.file.path.lastComponent))
      } catch {
        throw error.at(kept.file.path)
      }
    } _: { (file) throws(BatchError) in
      try body(file)
    }
  }

  /// Syncs a file system once. After an error no file on it is linked, because the kernel reports the error only once.
  private func sync(_ folder: OpenFolder) throws(BatchError) {
    let device = folder.identity.device
    if let known = synced[device] {
      if let known { throw known }
      return
    }
    do throws(BatchError) {
      try folders.commits.syncFileSystem(through: folder)
      synced[device] = .some(nil)
    } catch {
      synced[device] = error
      throw error
    }
  }

  /// All names of a file; nil if it has names that the walk did not find.
  private static func names(of file: DuplicateFile) -> [FileRecord]? {
    if file.record.status.linkCount == 1 { return [file.record] }
    var paths: Set<PathBytes> = []
    let names = ([file.record] + file.furtherNames).filter { paths.insert($0.path).inserted }
    return UInt64(names.count) == file.record.status.linkCount ? names : nil
  }

  private func replace(
    _ name: FileRecord, isFirst: Bool, by file: Int32, _ kept: KeptFile
  ) throws(BatchError) -> LinkOutcome.Reason? {
    let place = try folders.prepare(try folders.place(of: name, after: &last))
    last = place
    let (folder, leaf) = (place.source, PathBytes(name.path.lastComponent))
    do throws(BatchError) {
      let copy = try folder.openFile(leaf)
      // A program that has a file open may write to it later, which neither content nor time can show now.
      if context.calls.tryReadLease(on: copy.raw) == -EAGAIN { return .isOpen }
      if context.calls.tryReadLease(on: file) == -EAGAIN { return .keptIsOpen }
      let now = try context.calls.status(of: copy)
      let status = name.status
      guard now.hasSameContent(as: status), !isFirst || now.statusChanged == status.statusChanged,
        FileTraits(copy.raw, now, hasAttributes: true) == kept.traits
      else {
        throw BatchError(.changed, "changed since it was compared, and is not linked")
      }
      let failed = folder.replace(leaf, by: context.commits) {
        context.calls.link(file, as: $0, in: folder.raw)
      }
      kept.noteLink(try context.calls.status(of: file))
      switch failed {
      case 0: return nil
      case EMLINK: return .tooManyNames
      case EXDEV: return .otherFileSystem
      default: throw .output("link", errno: failed)
      }
    } catch {
      throw error.at(name.path)
    }
  }
}
