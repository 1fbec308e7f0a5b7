import BatchEngine
import BatchOutputs

/// Archives the files of a tree.
package struct ArchiveCall: Call {
  fileprivate let options: ArchiveOptions
  package var output = CallOutput.none
  /// The folder in which paths begin, entered when the output is open; nil for the current folder.
  package var directory: PathBytes?
  /// Nil for an unencrypted archive.
  package var lock: AgeLock?
  /// How much recovery data are made of the archive; nil for none. Only for an output that is a file.
  package var parity: ParityOptions?
  /// The number of files of one operation; nil decides by the format.
  private let stride: Int?

  package init(_ options: ArchiveOptions, stride: Int?) {
    (self.options, self.stride) = (options, stride)
  }

  package var limits: CallLimits {
    get throws(BatchError) {
      CallLimits(
        stride: options.format.stride(count: stride), laneMemory: try options.memoryOfLane(),
        inputs: output.path == nil ? 0 : parity == nil ? 4 : 8)
    }
  }

  package var division: Division? {
    // The key of an encrypted archive is made for one stream of bytes.
    guard options.format.isJoinable, lock == nil, parity == nil else { return nil }
    var division = Division(unit: .members(options), join: .archive(options))
    division.outputs = [output.path].compactMap { $0 }
    division.folder = directory
    division.skipsTemporaries = true
    return division
  }

  /// Nothing came of it if there is no member although there were paths.
  package func verdict(_ tally: CallTally) -> CallVerdict {
    let counts = tally.counts
    return CallVerdict()
      .adding(.someFailed, if: counts.failed > 0)
      .adding(.nothing, if: counts.done == 0 && (counts.failed > 0 || counts.missing > 0))
  }

  /// An archive that was written.
  package struct Result: CallResult {
    fileprivate let written: WrittenArchive?
    /// The size in bytes; nil for a stream.
    package fileprivate(set) var size: Int64?
    /// How many members were read back and compared; nil if none were.
    package fileprivate(set) var verified: Int?
    /// The size of the recovery data in bytes; nil if none were made.
    package fileprivate(set) var paritySize: Int64?
  }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable ([ArchivedMember]) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    if let path = output.path {
      guard StandardStreams.linkCount(of: path) <= 1 else { throw Self.hasFurtherNames(path) }
      try FolderMaker(calls: run.calls, isSynced: isSynced).makeLast(path.parent)
    }
    try checkRecoveryData(in: run)
    let opened = try output.open(in: run)
    return try opened.orDiscard { () throws(BatchError) in
      if let file = opened.file, file.isTerminal, !isReplacing {
        throw BatchError(
          .invalid, "an archive is not written to a terminal", path: file.path,
          remedy: .writeToTerminal)
      }
      let place = try folderOfOutput(in: run)
      if let directory { try WorkingFolder.enter(directory) }
      let plain = opened.stream ?? NoStream()
      let concurrency = run.concurrency
      let encrypted = try lock.map { (lock) throws(BatchError) in
        try EncryptedOutput(plain, for: lock, concurrency: concurrency)
      }
      let (source, total) = try members(of: input, in: run, excluding: opened.ownFiles)
      let job = ArchiveJob(options, output: encrypted ?? plain, parts: input.parts, report: report)
      var prepared = Prepared(job, over: source, total: total) { Result(written: $0) }
      prepared.complete = { (result) throws(BatchError) in
        try complete(&result, opened, encrypted, place, in: run)
      }
      prepared.discard = { opened.discard() }
      return prepared
    }
  }

  /// The folder of an output that may have recovery data, opened before the working folder changes; nil for other outputs.
  private func folderOfOutput(in run: RunContext) throws(BatchError) -> OpenFolder? {
    guard let path = output.path, parity != nil || isReplacing, !OutputFile.isDevice(path) else {
      return nil
    }
    return try run.folders.folder(named: path.parent)
  }

  /// Refuses names of recovery data that are taken before time is spent.
  private func checkRecoveryData(in run: RunContext) throws(BatchError) {
    guard let path = output.path, parity != nil, !isReplacing, !OutputFile.isDevice(path) else { return }
    try OutputFile.check(ParityNames.index(path), isReplacing: false, in: run)
    guard let name = try OwnParity(of: path, in: run).names.first else { return }
    try OutputFile.check(path.parent.appending(name.bytes), isReplacing: false, in: run)
  }

  private static func hasFurtherNames(_ path: PathBytes) -> BatchError {
    BatchError(
      .invalid, "cannot write the output: it is a file with further names", path: path,
      remedy: "remove it first")
  }

  /// Checks the output as a run would, and enters the folder.
  ///
  /// - Returns: the file that the run would replace.
  fileprivate func rehearse(in run: RunContext) throws(BatchError) -> FileIdentity? {
    var replaced: FileIdentity?
    if let path = output.path {
      guard StandardStreams.linkCount(of: path) <= 1 else { throw Self.hasFurtherNames(path) }
      replaced = StandardStreams.identity(of: path)
      try OutputFile.check(path, isReplacing: isReplacing, in: run)
    }
    if let directory { try WorkingFolder.enter(directory) }
    return replaced
  }

  fileprivate func members(
    of input: CallInput, in run: RunContext, excluding own: [FileIdentity] = []
  ) throws(BatchError) -> (source: ArchiveSource, total: ResultOperation<Counters.Snapshot>?) {
    let (tree, total) = try input.tree(in: run) { walk in
      walk.takesEverything = true
      walk.skipsTemporaries = true
      walk.excluded.formUnion(own)
    }
    guard case .shard(let work) = input else {
      return (try ArchiveSource(tree, options: options, operandCount: input.operandCount), total)
    }
    return (try ArchiveSource(tree, options: options) { work.player.firstPath }, total)
  }

  private var isSynced: Bool {
    if case .file(let file) = output { file.isSynced } else { false }
  }

  private var isReplacing: Bool {
    if case .file(let file) = output { file.isReplacing } else { false }
  }

  /// Reads the archive back, if its content was recorded, and gives it its name if that succeeded.
  private func complete(
    _ result: inout Result, _ opened: CallOutput.Opened, _ encrypted: EncryptedOutput?,
    _ place: OpenFolder?, in run: RunContext
  ) throws(BatchError) {
    try encrypted?.seal()
    guard let file = opened.file else { return try opened.finish() }
    result.size = try file.size()
    if let written = result.written {
      result.verified = try ArchiveReadBack(isSynced: isSynced, run: run).compare(
        file, encrypted, with: written)
    }
    guard let place else { return try file.finish() }
    let former =
      isReplacing ? try OwnParity(of: PathBytes(file.path.lastComponent), in: place, run) : nil
    let replaces = former?.isEmpty == false
    let written = try parity.flatMap { (parity) throws(BatchError) in
      try WrittenParity.of(
        file, parity, in: place, isReplacing: isReplacing, besides: replaces, run)
    }
    result.paritySize = written?.size
    do throws(BatchError) {
      // At any moment a set describes the archive that has the name.
      if replaces { try written?.commitVolumes(isSynced: isSynced, by: run.commits) }
      try file.finish()
    } catch {
      written?.discard()
      throw error
    }
    if !replaces { try written?.commitVolumes(isSynced: isSynced, by: run.commits) }
    try written?.commitIndex(isSynced: isSynced, by: run.commits)
    // By recovery data of the archive that was replaced, a repair would bring that one back.
    try former?.remove(except: Set(written?.lastNames ?? []), isSynced: isSynced, by: run.commits)
  }
}

/// Lists the members that an archive would have, and writes nothing.
package struct ArchivePreviewCall: Call {
  private let call: ArchiveCall
  private let render: @Sendable (FileRecord, ArchiveEntry, inout [UInt8]) -> Void

  /// - Parameter render: appends the row of a member; called on many threads at once.
  package init(
    of call: ArchiveCall, render: @escaping @Sendable (FileRecord, ArchiveEntry, inout [UInt8]) -> Void
  ) {
    (self.call, self.render) = (call, render)
  }

  package func verdict(_ tally: CallTally) -> CallVerdict { call.verdict(tally) }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<NoFindings> {
    let replaced = try call.rehearse(in: run)
    let (source, total) = try call.members(of: input, in: run, excluding: [replaced].compactMap { $0 })
    let job = ArchivePreviewJob(call.options, render: render, output: report)
    return Prepared(job, over: source, total: total) { _ in NoFindings() }
  }
}

extension CallInput {
  /// Where the frames and members of a shard go; nil for a whole archive.
  fileprivate var parts: (any ArchiveParts)? {
    guard case .shard(let work) = self else { return nil }
    return ShardArchiveParts(work.result, work.devices)
  }
}
