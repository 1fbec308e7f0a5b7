import BatchEngine
import BatchOutputs

/// One work item of a run that compresses.
package enum CompressItem: Sendable {
  /// A file that one operation compresses as a whole; with the decision about its output where that was made already.
  case file(FileRecord, target: PathBytes, OutputDecision?)
  /// One block of a large file, in order.
  case block(LargeFile, index: Int)
  /// A large file whose output is complete and has to be read back before its source goes.
  case proof(JoinedOutput)
  /// A large file that did not get smaller and is copied.
  case copy(LargeFile)
  /// One more name of a file that came before.
  case link(HardLinkItem)
  /// A block of standard input.
  case streamBlock([UInt8], index: Int)
  /// An output of an earlier run whose source is beside it, or a large file in a compressed format.
  case compressed(FileRecord)
  /// A file that came before, by another operand.
  case repeated(FileRecord)
  case problem(Problem)
}

/// One work item of a run that decompresses.
package enum DecompressItem: Sendable {
  /// Another file beside it may have the same output.
  case file(FileRecord, target: PathBytes, mayHaveRival: Bool)
  /// A file whose name has no suffix that is known.
  case other(FileRecord)
  /// One more name of a file that came before; both have outputs.
  case link(HardLinkItem, mayHaveRival: Bool)
  case standardInput
  case problem(Problem)
}

extension CompressItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .file(let record, _, _), .compressed(let record), .repeated(let record): record.path
    case .block(let file, _), .copy(let file): file.record.path
    case .proof(let output): output.file.record.path
    case .link(let name): name.record.path
    case .streamBlock: "-"
    case .problem: nil
    }
  }
}

extension DecompressItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .file(let record, _, _), .other(let record): record.path
    case .link(let name, _): name.record.path
    case .standardInput: "-"
    case .problem: nil
    }
  }
}
