import BatchEngine
import BatchOutputs

/// The counts of a walk for a plan.
package struct PlanTally: Sendable {
  package var items = 0
  package var problems = 0
  /// Operands that do not exist.
  package var missing = 0
  package var filtered = 0
  package var bytes: Int64 = 0

  package init() {}

  mutating func count(_ item: CheckItem, bytes size: Int64) {
    let problem = if case .unreadable(let problem) = item { problem } else { Problem?.none }
    count(bytes: size, problem)
  }

  mutating func count(_ walked: Walked, bytes size: Int64) {
    let problem = if case .problem(let problem) = walked { problem } else { Problem?.none }
    count(bytes: size, problem)
  }

  private mutating func count(bytes size: Int64, _ problem: Problem?) {
    items += 1
    bytes += min(max(0, size), .max - bytes)
    guard let problem else { return }
    problems += 1
    if problem.event == .missing { missing += 1 }
  }
}

extension PlanMaker {
  /// Adds all files of a tree.
  ///
  /// - Parameter naming: the naming of outputs, if several files may have one output; a file whose output belongs to an earlier one is
  ///   marked.
  /// - Throws: the reason when the run was stopped, or the error of writing.
  package func walk(
    _ tree: consuming sending TreeSource, claiming naming: OutputNaming?, _ cancellation: Cancellation
  ) throws(BatchError) -> PlanTally {
    var tally = PlanTally()
    var tree = tree
    var claims = OutputClaims()
    while let walked = tree.next() {
      try cancellation.check()
      let weight = tree.weight(of: walked)
      tally.count(walked, bytes: weight)
      var isTaken = false
      if let naming, case .item(.file(let record)) = walked, let target = naming.target(of: record.path),
        target != record.path, case .refused = claims.claim(target, for: record)
      {
        isTaken = true
      }
      try add(
        walked, listed: tree.folderStatus, mayHaveRival: isTaken, measure: ItemMeasure(weight: weight),
        bytes: weight)
    }
    tally.filtered = tree.filteredCount
    return tally
  }

  /// Adds all files of a tree. All names of a file belong to the shard of the first one.
  ///
  /// - Parameter naming: the naming of outputs, for a job in which several files may have one output.
  /// - Throws: the reason when the run was stopped, or the error of writing.
  package func walk(
    _ tree: consuming sending TreeSource, joiningNames naming: OutputNaming?, _ cancellation: Cancellation
  ) throws(BatchError) -> PlanTally {
    var tally = PlanTally()
    var tree = tree
    var rivals: OutputRivals?
    while let walked = tree.next() {
      try cancellation.check()
      let weight = tree.weight(of: walked)
      tally.count(walked, bytes: weight)
      let measure = ItemMeasure(weight: weight)
      var mayHaveRival = false
      if case .item(.file(let record)) = walked, let naming,
        naming.hasRival(copyOf: record, calls: tree.calls)
      {
        mayHaveRival = true
      } else if case .item(.file(let record)) = walked, !record.isOperand, let naming,
        let target = naming.target(of: record.path)
      {
        let known =
          rivals.flatMap { $0.hold(for: record) ? $0 : nil } ?? OutputRivals(beside: record, naming)
        mayHaveRival = known.mayHold(target)
        rivals = known
      }
      try addToFirst(
        walked, listed: tree.folderStatus, mayHaveRival: mayHaveRival, measure: measure, bytes: weight)
    }
    tally.filtered = tree.filteredCount
    return tally
  }

  /// Adds all entries of trees that are mirrored. A further name of a file is stored with its first path; an entry that has the
  /// place of an earlier one in the target is stored as a problem.
  ///
  /// - Throws: the reason when the run was stopped, or the error of writing.
  package func walk(
    _ mirror: consuming sending MirrorSource, _ cancellation: Cancellation
  ) throws(BatchError) -> PlanTally {
    var tally = PlanTally()
    var mirror = mirror
    var firstPaths: [FileIdentity: PathBytes] = [:]
    while let walked = mirror.walk() {
      try cancellation.check()
      guard case .item(.file(let record)) = walked, case let step = mirror.item(for: walked) else {
        tally.count(walked, bytes: 0)
        try add(walked, listed: nil, measure: ItemMeasure(weight: 0), bytes: 0)
        continue
      }
      switch step {
      case .problem(let problem):
        tally.count(.problem(problem), bytes: 0)
        try add(.problem(problem), listed: nil, measure: ItemMeasure(weight: 0), bytes: 0)
      case .row:
        tally.count(walked, bytes: 0)
        try add(
          walked, listed: mirror.folderStatus, first: firstPaths[record.status.identity],
          measure: ItemMeasure(weight: 0), bytes: 0)
      case .item(let item):
        if record.status.kind != .directory, record.status.linkCount > 1 {
          firstPaths[record.status.identity] = record.path
        }
        let size = record.status.kind == .regular ? max(0, record.status.size) : 0
        tally.count(walked, bytes: size)
        try add(
          walked, listed: mirror.folderStatus, measure: ItemMeasure(weight: mirror.weight(of: item)),
          items: mirror.itemCount(of: item), bytes: size, work: mirror.contentWeight(of: record))
      }
    }
    tally.filtered = mirror.filteredCount
    return tally
  }

  /// Adds all lines of manifests.
  ///
  /// - Parameter source: finds the files of the lines.
  /// - Throws: `invalid` for a line that names standard input; as ``walk(_:claiming:_:)``.
  package func walk(
    _ rows: consuming sending CheckLines, _ source: consuming sending CheckSource,
    _ cancellation: Cancellation
  ) throws(BatchError) -> PlanTally {
    var tally = PlanTally()
    var (rows, source) = (rows, source)
    while let row = try rows.next() {
      try cancellation.check()
      guard let item = source.item(for: row) else { continue }
      if case .standardInput(let entry) = item {
        throw BatchError(
          .invalid, "line \(entry.line) of a manifest names standard input, which cannot be divided")
      }
      let bytes = source.weight(of: item)
      tally.count(item, bytes: bytes)
      try add(row, bytes: bytes)
    }
    return tally
  }

  /// Adds all entries that become members of an archive.
  ///
  /// - Throws: as ``walk(_:claiming:_:)``.
  package func walk(
    _ archive: consuming sending ArchiveSource, _ cancellation: Cancellation
  ) throws(BatchError) -> PlanTally {
    var tally = PlanTally()
    var archive = archive
    while let walked = archive.walk() {
      try cancellation.check()
      var (first, bytes, weight) = (PathBytes?.none, Int64(0), Int64(0))
      if case .item(let item) = archive.item(for: walked) {
        weight = archive.weight(of: item)
        switch item {
        case .link(_, let path): first = path
        case .member(let record, _): bytes = ArchiveItem.storedSize(of: record)
        case .header(let member): bytes = Int64(clamping: member.storedSize)
        case .block: break
        }
      }
      tally.count(walked, bytes: bytes)
      try add(
        walked, listed: archive.folderStatus, first: first,
        measure: ItemMeasure(weight: weight), bytes: bytes)
    }
    tally.filtered = archive.filteredCount
    return tally
  }
}
