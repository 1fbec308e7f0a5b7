import BatchEngine

/// What is staged: a complete output, an existing one, or a link. Its steps are those of a commit.
///
/// The large cases are boxes, since each step copies the entries of its batch.
enum StagedChange {
  /// A file whose source stays, with the folder of its final name.
  case copy(AtomicFile, in: OpenFolder)
  /// With the folder of its final name; and the folder through which its source was read, if the source is removed.
  indirect case file(AtomicFile, StagedOutput, in: OpenFolder, from: OpenFolder?)
  /// An output of an earlier run that contains its source.
  indirect case existing(ExistingOutput, StagedOutput, in: OpenFolder, from: OpenFolder)
  indirect case link(StagedLink)

  var target: PathBytes {
    switch self {
    case .copy(let file, _), .file(let file, _, _, _): file.target
    case .existing(let output, _, _, _): output.target
    case .link(let link): link.target
    }
  }

  /// The folder whose file system must be synced; nil for a link.
  var folder: OpenFolder? {
    switch self {
    case .copy(_, let folder), .file(_, _, let folder, _), .existing(_, _, let folder, _): folder
    case .link: nil
    }
  }

  func discard() {
    switch self {
    case .copy(let file, _), .file(let file, _, _, _): file.discard()
    case .existing, .link: break
    }
  }

  /// The result if the output failed.
  func failure(_ error: BatchError) -> CommitResult {
    guard error.isOutOfSpace, case .file(_, let output, _, .some) = self else { return .failed(error) }
    return .unwritten(output.source, error)
  }

  /// Syncs the output by itself.
  func sync(_ calls: any CommitCalls) throws(BatchError) {
    switch self {
    case .copy(let file, _), .file(let file, _, _, _): try calls.sync(file)
    case .existing(let output, _, _, _): try calls.sync(output)
    case .link: break
    }
  }

  /// Marks an existing output whose source is removed. A new output has its mark.
  func mark(_ calls: any CommitCalls, by right: CommitRight) throws(BatchError) {
    if case .existing(let output, _, _, _) = self { try calls.mark(output, by: right) }
  }

  /// Gives the file its name, or makes the link.
  ///
  /// - Returns: the folder of the output; nil for a link whose first output does not exist.
  func publish(_ calls: any CommitCalls, by right: CommitRight) throws(BatchError) -> OpenFolder? {
    switch self {
    case .copy(let file, let folder), .file(let file, _, let folder, _):
      try calls.publish(file, by: right)
      return folder
    case .existing(let output, _, let folder, _):
      try output.requireUnchanged()
      return folder
    case .link(let link): return try link.make(right)
    }
  }

  /// Removes the source if the options require it. A source with several names is removed after all outputs.
  ///
  /// - Returns: why it could not be removed.
  func removeSource(_ calls: any CommitCalls, by right: CommitRight) -> BatchError? {
    let output: StagedOutput
    let folder: OpenFolder
    switch self {
    case .file(_, let staged, _, let source?), .existing(_, let staged, _, let source):
      (output, folder) = (staged, source)
    case .copy, .file, .link: return nil
    }
    guard output.source.status.linkCount == 1 else { return nil }
    do throws(BatchError) {
      try calls.remove(output.source, seen: output.read, in: folder, by: right)
      return nil
    } catch {
      return error
    }
  }

  /// All steps without syncing.
  func commit(_ calls: any CommitCalls, by right: CommitRight) -> CommitResult {
    do throws(BatchError) {
      try mark(calls, by: right)
      guard try publish(calls, by: right) != nil else { return .withoutFirst }
    } catch {
      discard()
      return failure(error)
    }
    return .committed(remaining: removeSource(calls, by: right))
  }
}

/// One change in the order of staging.
struct StagedEntry {
  let id: StagedOutput.ID
  let change: StagedChange
  /// The folder of the committed output; nil before.
  var folder: OpenFolder?
}
