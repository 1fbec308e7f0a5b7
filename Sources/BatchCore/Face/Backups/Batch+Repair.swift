import BatchEngine

extension Batch {
  /// How a backup set is repaired.
  public struct SetRepairOptions: Sendable {
    public var settings = Settings()
    /// The name of the set; nil for the only one in the folder.
    public var setName: PathBytes?
    /// Whether a damaged file that is replaced is kept as `NAME.damaged`. ``Batch/prune(_:_:)`` does not remove it.
    public var keepsDamaged = true
    /// How long to wait for another run that writes to the set; 0 refuses at once.
    public var longestWait = Duration.zero
    /// Syncs what is repaired to the disk.
    public var isSynced = true

    /// The defaults: damaged files are kept.
    public init() {}
  }

  /// Repairs the damaged archives and manifests of a set by their recovery data, and rebuilds missing ones. Needs no key.
  ///
  /// A file that cannot be repaired is a failure of the report, and is not changed.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - folder: the local folder of the set.
  ///   - options: what happens to damaged files, and the resources that the call may use.
  ///   - each: receives the protected files as they were found, one call at a time, on a thread of the run. It may be slow,
  ///     because the run waits for it when too many results are pending; it must not wait for the end of the call.
  /// - Throws: `missing` if there is no set; `invalid` if there are several; `locked` if another run writes to the set; `exhausted` if
  ///   the machine does not allow a run; `unwritable` if a file cannot be written.
  public static func repairSet(
    _ folder: some PathName, _ options: SetRepairOptions = SetRepairOptions(),
    each: (@Sendable (ProtectedFile) -> Void)? = nil
  ) async throws(BatchError) -> Report<ParityFindings> {
    let folder = try folder.pathBytes()
    return try await BatchCall.perform(options.settings, progress: nil, details: ParityFindings()) {
      (library) throws(BatchError) in
      var call = RepairCall { (run) throws(BatchError) in
        try BackupSet(in: folder, repairable: options.setName, run)
      }
      (call.keepsDamaged, call.isSynced) = (options.keepsDamaged, options.isSynced)
      call.patience = SetLock.Patience(limit: options.longestWait / .seconds(1))
      let outcome = try library.run(call, [folder]) { (report) throws(BatchError) in
        switch report {
        case .file(let file):
          guard let row = ProtectedFile(file) else { return }
          library.note { $0.add(row, most: library.settings.mostListed) }
          each?(row)
        case .failed(let error): library.fail(error)
        case .remade: break
        }
      }
      guard let result = outcome.result else { return }
      library.note { $0.add(result) }
    }
  }
}

extension Batch.ParityFindings {
  fileprivate mutating func add(_ result: RepairCall.Result) {
    (files, damaged, repaired) = (result.files, result.damaged, result.repaired)
    (otherVersions, damagedVolumes) = (result.refused, result.damagedVolumes)
    isRepairable = result.failed == 0
  }
}
