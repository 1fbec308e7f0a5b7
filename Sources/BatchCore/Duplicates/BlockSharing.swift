import BatchEngine
import BatchOutputs
import var Glibc.EINVAL
import var Glibc.ENOTTY
import var Glibc.EOPNOTSUPP

/// Lets copies share the blocks of one file. The kernel compares and shares each part in one step, so that neither contents nor
/// times ever change.
final class BlockSharing: CopyLinking {
  private static let descriptors = 4
  /// The most bytes that file systems accept in one call.
  private static let partSize: UInt64 = 16 << 20

  private let context: CollectorContext
  private let folders: OutputFolders
  private var last: OutputPlace?
  private var lastKept: OutputPlace?
  /// File systems without this call; the first copy on each is reported.
  private var unable: Set<UInt64> = []

  init(_ context: CollectorContext) {
    self.context = context
    folders = OutputFolders(mirroredInto: nil, isSynced: false, kept: 0, opener: context.folders)
  }

  func link(_ copy: DuplicateFile, to kept: KeptFile) throws(BatchError) -> LinkOutcome.Reason? {
    let device = copy.record.status.identity.device
    if unable.contains(device) { return .sharesNoBlocks }
    return try context.withDescriptors(Self.descriptors) { () throws(BatchError) in
      let target = try open(copy.record, after: &last)
      return try kept.withFile(hasAttributes: false, calls: context.calls) { () throws(BatchError) in
        try open(kept.file.record, after: &lastKept)
      } _: { (source) throws(BatchError) in
        try share(source, with: target.raw, copy)
      }
    }
  }

  private func share(
    _ source: Int32, with target: Int32, _ copy: DuplicateFile
  ) throws(BatchError) -> LinkOutcome.Reason? {
    let size = UInt64(clamping: copy.record.status.size)
    var offset: UInt64 = 0
    while offset < size {
      try context.checkCancellation()
      let shared = context.calls.share(
        offset..<min(size, offset + Self.partSize), of: source, with: target)
      guard shared != 0 else {
        throw BatchError(.changed, "does not have the same bytes as its copy any more", path: copy.path)
      }
      guard shared > 0 else {
        let number = Int32(truncatingIfNeeded: -shared)
        guard [EOPNOTSUPP, ENOTTY, EINVAL].contains(number) else {
          throw .output("share blocks", errno: number, path: copy.path)
        }
        unable.insert(copy.record.status.identity.device)
        throw BatchError(
          .invalid, "its file system shares no blocks between files; btrfs and xfs do", path: copy.path)
      }
      offset += UInt64(shared)
    }
    return nil
  }

  private func open(
    _ record: FileRecord, after place: inout OutputPlace?
  ) throws(BatchError) -> Descriptor {
    let found = try folders.place(of: record, after: &place)
    do throws(BatchError) {
      let file = try found.source.openFile(PathBytes(record.path.lastComponent))
      try context.calls.status(of: file).requireContent(of: record)
      return file
    } catch {
      throw error.at(record.path)
    }
  }
}
