import BatchEngine

/// The results of a plan, compared with it.
package struct ShardResults {
  package let plan: ShardPlan
  private let folder: PlanFolder
  /// The result of each shard in order, with its file status when it was verified; nil without a valid result.
  private var verified: [(outcome: ShardOutcome, status: FileStatus)?] = []
  /// The errors, with the path or the number of each shard.
  package private(set) var faults: [BatchError] = []
  /// The sum over all shards, with the time of the slowest one.
  package private(set) var outcome = ShardOutcome()

  /// Opens and verifies the results in the folder of a plan.
  ///
  /// - Throws: the reason when the run was stopped; `untrusted` for a result that another user can write to.
  package init(of plan: ShardPlan, in folder: PlanFolder, _ run: RunContext) throws(BatchError) {
    self.plan = plan
    self.folder = folder
    for shard in plan.shards {
      try run.cancellation.check()
      var found: ShardResultReader?
      do throws(BatchError) {
        found = try ShardResultReader.open(shard.index, of: plan, in: folder)
        try found?.verify(run.cancellation)
        if found == nil {
          let path = folder.path(of: ShardPlan.name(shard.index, "result"))
          faults.append(
            BatchError(.unwritable, "the result of shard \(shard.index) is missing", path: path))
        }
      } catch {
        try run.cancellation.check()
        if error.code == .untrusted { throw error }
        found = nil
        faults.append(error)
      }
      verified.append(found.map { ($0.outcome, $0.status) })
      if let found { outcome.add(found.outcome) }
    }
    faults += Self.strangers(plan, folder)
  }

  /// Errors for results that belong to no shard of the plan.
  private static func strangers(_ plan: ShardPlan, _ folder: PlanFolder) -> [BatchError] {
    let known = Set(plan.shards.map { PathBytes(ShardPlan.name($0.index, "result")) })
    let names: [PathBytes]
    do throws(BatchError) {
      names = try folder.names()
    } catch {
      return [error]
    }
    return names.filter {
      $0.bytes.starts(with: "shard-".utf8) && $0.bytes.suffix(7).elementsEqual(".result".utf8)
        && !known.contains($0)
    }.sorted().map {
      BatchError(
        .malformed, "is the result of no shard of the plan", path: folder.path.appending($0.bytes))
    }
  }

  package var outcomes: [ShardOutcome?] { verified.map { $0?.outcome } }

  /// Opens the valid results, one after the other.
  ///
  /// - Throws: the error of `body`; `malformed` for a result that changed after it was verified.
  package func forEach(_ body: (ShardResultReader) throws(BatchError) -> Void) throws(BatchError) {
    for (index, known) in verified.enumerated() {
      guard let known else { continue }
      let reader = try ShardResultReader.open(index, of: plan, in: folder)
      guard let reader, reader.status.hasSameContent(as: known.status) else {
        throw BatchError(
          .malformed, "changed while it was merged",
          path: folder.path(of: ShardPlan.name(index, "result")))
      }
      try body(reader)
    }
  }

  /// Passes the rows and problems of all results on, in the order of the plan.
  package func forEachRow(
    _ rows: ([UInt8]) throws(BatchError) -> Void,
    problem: (Problem, Severity) throws(BatchError) -> Void
  ) throws(BatchError) {
    try forEach { (reader) throws(BatchError) in
      try reader.forEach { (place) throws(BatchError) in
        switch place.kind {
        case .rows: try rows(try reader.read(place.content))
        case .problem:
          let (found, severity) = try reader.problem(place)
          try problem(found, severity)
        case .frame, .members, .lost, .end: break
        }
      }
    }
  }

  /// Removes the results and locks of the plan, then the plan.
  ///
  /// - Returns: the errors of removing.
  package func removeParts(by right: CommitRight) -> [BatchError] {
    var names = [ShardPlan.fileName]
    for shard in plan.shards {
      names += [ShardPlan.name(shard.index, "result"), ShardPlan.name(shard.index, "lock")]
    }
    names.append(ShardPlan.entriesName)
    return names.compactMap { folder.remove($0, by: right) }
  }

  package var size: Int64 {
    verified.reduce(0) { $0 + min($1?.status.size ?? 0, .max - $0) }
  }
}
