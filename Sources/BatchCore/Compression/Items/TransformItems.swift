import BatchEngine
import BatchOutputs

/// One work item of a run that compresses.
package enum CompressItem: Sendable {
  /// A file that one operation compresses as a whole. If it has a rival, a copy of it would have the name of another source's
  /// output.
  case file(FileRecord, target: PathBytes, hasRival: Bool)
  /// One block of a large file, in order.
  case block(LargeFile, index: Int)
  /// A large file whose output must be read back before its source is removed.
  case proof(JoinedOutput)
  /// A large file that did not become smaller and is copied.
  case copy(LargeFile)
  /// A source whose output did not fit on its file system.
  case again(UnwrittenSource)
  /// A further name of an earlier file.
  case link(HardLinkItem)
  /// A block of standard input.
  case streamBlock([UInt8], index: Int)
  /// An output of an earlier run whose source is beside it, or a large file in a compressed format.
  case compressed(FileRecord)
  /// A file that came earlier, through another operand.
  case repeated(FileRecord)
}

/// One work item of a run that decompresses.
package enum DecompressItem: Sendable {
  /// Another file beside it may have the same output.
  case file(FileRecord, target: PathBytes, mayHaveRival: Bool)
  /// A file whose name has no known suffix.
  case other(FileRecord)
  /// A source whose output did not fit on its file system.
  case again(UnwrittenSource)
  /// A further name of an earlier file; both names get outputs.
  case link(HardLinkItem, mayHaveRival: Bool)
  case standardInput
}

extension CompressItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .file(let record, _, _), .compressed(let record), .repeated(let record): record.path
    case .block(let file, _), .copy(let file): file.record.path
    case .proof(let output): output.file.record.path
    case .again(let source): source.record.path
    case .link(let name): name.record.path
    case .streamBlock: "-"
    }
  }
}

extension DecompressItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .file(let record, _, _), .other(let record): record.path
    case .again(let source): source.record.path
    case .link(let name, _): name.record.path
    case .standardInput: "-"
    }
  }
}
