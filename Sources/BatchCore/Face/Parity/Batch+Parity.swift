import BatchEngine

extension Batch {
  /// How many recovery blocks protect some files.
  public struct ParityAmount: Sendable, Hashable {
    let options: BatchCore.ParityOptions

    /// A share of the blocks of the files: 0.05 is 5 %. More than 1 is allowed; 1 and more rebuilds missing files too.
    public static func share(_ share: Double) -> ParityAmount {
      ParityAmount(options: BatchCore.ParityOptions(.share(share)))
    }

    /// A number of recovery blocks, 1 to 65,535.
    public static func blocks(_ count: Int) -> ParityAmount {
      ParityAmount(options: BatchCore.ParityOptions(.blocks(count)))
    }
  }

  /// How recovery data are made.
  public struct ParityOptions: Sendable {
    public var settings = Settings()
    public var amount = ParityAmount.share(0.05)
    /// Bytes of a block, a multiple of 4; nil for 4,096 or more, so that there are about 2,000 blocks.
    public var blockSize: Int?
    /// Whether recovery data of the same name are replaced.
    public var replacesExisting = false
    /// Syncs the recovery data to the disk before they get their names.
    public var isSynced = true

    /// The defaults: one recovery block for 20 blocks.
    public init() {}
  }

  /// Recovery data that were written.
  public struct WrittenParity: Sendable {
    /// The paths of the files, the index last; empty if the task was cancelled.
    public internal(set) var paths: [PathBytes] = []
    /// Blocks of the files, of ``blockSize`` bytes each.
    public internal(set) var blocks = 0
    public internal(set) var blockSize = 0
    public internal(set) var recoveryBlocks = 0
    /// Bytes of the recovery data.
    public internal(set) var size: Int64 = 0
  }

  /// How files are compared with their recovery data.
  public struct ParityComparison: Sendable {
    public var settings = Settings()
    /// Further files in which blocks are searched.
    public var searched: [PathBytes] = []
    /// Whether a damaged file that is replaced is kept as `NAME.damaged`; for repairs.
    public var keepsDamaged = true
    /// Syncs what is repaired to the disk; for repairs.
    public var isSynced = true

    /// The defaults: damaged files are kept.
    public init() {}
  }

  /// A file with recovery data.
  public struct ProtectedFile: Sendable, Hashable {
    /// The state in which it was found.
    public enum State: String, Sendable, Hashable {
      case whole, damaged, missing
    }

    public let path: PathBytes
    public let state: State

    /// Nil for a report that describes no such file.
    init?(_ report: ParityVerifyCall.Report) {
      guard case .file(let file) = report, let state = State(rawValue: file.state.rawValue) else {
        return nil
      }
      (path, self.state) = (file.path, state)
    }
  }

  /// What was found of files with recovery data.
  public struct ParityFindings: Sendable {
    /// The files of the recovery data, or those of a backup set that have some.
    public internal(set) var files = 0
    /// How many of them were damaged or missing.
    public internal(set) var damaged = 0
    /// Their paths, at most ``Settings/mostListed``.
    public internal(set) var damagedPaths: [PathBytes] = []
    /// How many of them were repaired.
    public internal(set) var repaired = 0
    /// How many archives are another version than the recovery data describe. They were not changed.
    public internal(set) var otherVersions = 0
    /// How many blocks are missing, and how many recovery blocks are there; 0 for a backup set.
    public internal(set) var missingBlocks = 0
    public internal(set) var recoveryBlocks = 0
    /// Files with recovery data that are damaged themselves.
    public internal(set) var damagedVolumes = 0
    /// Whether the recovery blocks suffice.
    public internal(set) var isRepairable = true

    init() {}

    /// Whether all files are whole now.
    public var isWhole: Bool { damaged == repaired }

    mutating func add(_ file: ProtectedFile, most: Int) {
      if file.state != .whole, damagedPaths.count < most { damagedPaths.append(file.path) }
    }

    mutating func add(_ result: ParityVerifyCall.Result) {
      (files, damaged, repaired) = (result.files, result.damaged, result.repaired)
      (otherVersions, damagedVolumes) = (result.refused, result.damagedVolumes)
      (missingBlocks, recoveryBlocks) = (result.missingBlocks, result.recoveryBlocks)
      isRepairable = result.isRepairable
    }
  }

  /// Makes recovery data in the format of PAR2 2.0, by which damaged files can be repaired, also with `par2`.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - files: files and folders, below the folder of `index`. Empty files, and files of PAR2, are left out.
  ///   - index: the path of the recovery data without the suffix `.par2`, usually that of the only file.
  ///   - options: how many there are, and the resources that the call may use.
  ///   - progress: receives states until the call returns.
  /// - Throws: `invalid` for numbers that the format does not allow, for files elsewhere, and if the names are taken; `changed` if a
  ///   file changed while it was read; `exhausted` if the machine does not allow a run; `unwritable` if they cannot be written.
  public static func makeParity(
    of files: [some PathName], at index: some PathName, _ options: ParityOptions = ParityOptions(),
    progress: Progress? = nil
  ) async throws(BatchError) -> Report<WrittenParity> {
    let files = try files.pathBytes()
    let index = try index.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: WrittenParity()) {
      (library) throws(BatchError) in
      var parity = options.amount.options
      parity.blockSize = options.blockSize
      var call = ParityCreateCall(parity, at: index)
      (call.isReplacing, call.isSynced) = (options.replacesExisting, options.isSynced)
      let outcome = try library.run(call, files) { _ in }
      guard let result = outcome.result else { return }
      library.note { details in
        (details.paths, details.size) = (result.names, result.size)
        details.blocks = result.layout?.blockCount ?? 0
        details.blockSize = result.layout?.blockSize ?? 0
        details.recoveryBlocks = result.layout?.recoveryCount ?? 0
      }
    }
  }

  /// Compares files with their recovery data in the format of PAR2.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - file: a protected file, or a file with recovery data.
  ///   - options: where blocks are searched, and the resources that the call may use.
  ///   - progress: receives states until the call returns.
  ///   - each: receives the protected files as they were found, one call at a time, on a thread of the run. It may be slow,
  ///     because the run waits for it when too many results are pending; it must not wait for the end of the call.
  /// - Throws: `missing` if there are no recovery data; `malformed` if they say nothing that can be used; `exhausted` if the machine
  ///   does not allow a run.
  public static func compareWithParity(
    _ file: some PathName, _ options: ParityComparison = ParityComparison(), progress: Progress? = nil,
    each: (@Sendable (ProtectedFile) -> Void)? = nil
  ) async throws(BatchError) -> Report<ParityFindings> {
    try await compare(file.pathBytes(), options, isRepairing: false, progress, each)
  }

  /// Repairs damaged files, and rebuilds missing ones, by recovery data in the format of PAR2. If the recovery blocks do not suffice,
  /// nothing is changed.
  ///
  /// What was rebuilt has all checksums of the recovery data, and an archive with an index is whole by it, before it replaces the
  /// damaged file. An archive that has another index than the recovery data describe is not changed.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - file: a protected file, or a file with recovery data.
  ///   - options: what happens to damaged files, and the resources that the call may use.
  ///   - progress: receives states until the call returns.
  ///   - each: receives the protected files as they were found, one call at a time, on a thread of the run. It may be slow,
  ///     because the run waits for it when too many results are pending; it must not wait for the end of the call.
  /// - Throws: as ``compareWithParity(_:_:progress:each:)``; `unwritable` if a file cannot be written.
  public static func repair(
    _ file: some PathName, _ options: ParityComparison = ParityComparison(), progress: Progress? = nil,
    each: (@Sendable (ProtectedFile) -> Void)? = nil
  ) async throws(BatchError) -> Report<ParityFindings> {
    try await compare(file.pathBytes(), options, isRepairing: true, progress, each)
  }

  private static func compare(
    _ file: PathBytes, _ options: ParityComparison, isRepairing: Bool, _ progress: Progress?,
    _ each: (@Sendable (ProtectedFile) -> Void)?
  ) async throws(BatchError) -> Report<ParityFindings> {
    try await BatchCall.perform(options.settings, progress: progress, details: ParityFindings()) {
      (library) throws(BatchError) in
      var call = ParityVerifyCall(file)
      (call.extra, call.isRepairing) = (options.searched, isRepairing)
      (call.keepsDamaged, call.isSynced) = (options.keepsDamaged, options.isSynced)
      let outcome = try library.run(call, [file]) { (report) throws(BatchError) in
        guard let row = ProtectedFile(report) else { return }
        library.note { $0.add(row, most: library.settings.mostListed) }
        each?(row)
      }
      if let result = outcome.result { library.note { $0.add(result) } }
    }
  }
}
