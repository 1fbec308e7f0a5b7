import BatchEngine
import BatchOutputs

/// One item of a run that mirrors.
package enum MirrorItem: Sendable {
  /// A file, folder, symbolic link, FIFO or device.
  case entry(FileRecord)
  /// A range of a large file.
  case piece(LargeCopy, index: Int)
  /// An entry that could not be made before: something was in its way, or another copy of it could not be linked.
  case again(FileRecord, mayLink: Bool)
  /// A file of the target that is read back.
  case verification(MirroredFile)
}

/// A file of the target, with the digest of what was read from its source.
package struct MirroredFile: Sendable {
  let path: PathBytes
  let place: RelativePath
  let size: Int64
  let digest: Digest
}

extension MirrorItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .entry(let record), .again(let record, _): record.path
    case .verification(let file): file.path
    case .piece(let copy, _): copy.record.path
    }
  }
}

/// One result of a run that mirrors.
package enum MirrorRow: Sendable {
  /// Nothing must be given a name.
  case settled(MirrorReport)
  case staged(MirrorReport, StagedOutput.ID)
  /// A symbolic link, FIFO or device that the collector makes.
  case node(MirrorReport, ArchiveEntry)
  case folder(MirrorReport, ArchiveEntry)
  /// A further name of an earlier file.
  ///
  /// - `isElsewhere`: whether the first name belongs to another shard.
  case name(MirrorReport, first: RelativePath, isElsewhere: Bool)
  /// A file of another copy that is equal, by the number of the copy.
  case equal(MirrorReport, FileRecord, copy: Int, FileIdentity)
  /// A folder is in the place of a file, or the reverse.
  case obstructed(FileRecord, RelativePath, BatchError)
  /// A range of a large file that is not the last one.
  case part
  /// The last range of a large file; the result is in the copy.
  case large(LargeCopy)
  /// It could not be copied, which was reported; so further names of it cannot be made.
  case failed(RelativePath)
  case verified
  case different(BatchError)

  /// Sets the digest of a report.
  mutating func set(_ digest: Digest) {
    switch self {
    case .settled(var report):
      report.digest = digest
      self = .settled(report)
    case .staged(var report, let output):
      report.digest = digest
      self = .staged(report, output)
    case .equal(var report, let record, let copy, let identity):
      report.digest = digest
      self = .equal(report, record, copy: copy, identity)
    default: break
    }
  }
}
