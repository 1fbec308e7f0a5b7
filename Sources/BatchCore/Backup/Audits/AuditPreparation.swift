import BatchEngine

/// Prepares an audit: reads records into memory, and determines how the names of both sides correspond.
package struct AuditPreparation: Sendable {
  private let first: Comparand
  /// The reference, if it is read again during the audit; nil if it is in memory.
  private let reference: RecordedTree?
  private let algorithms: Set<DigestAlgorithm>
  package let target: AuditTarget
  /// How many names were dropped from the paths of the reference, and where new files are searched.
  package let plan: AuditPlan
  /// The dropped names, each with a slash.
  package let dropped: [UInt8]
  package let form: AuditForm?
  /// The common beginning of the reference's paths, for messages.
  package let start: [UInt8]
  /// How many paths of both sides could not be read; they were reported.
  package private(set) var failed = 0

  /// - Parameters:
  ///   - parts: names of the record that are compared; nil for all.
  ///   - aligns: whether the names of both sides may begin in different folders.
  ///   - walk: the walk options for folders.
  /// - Throws: the errors of opening both; `invalid` if they have digests of different algorithms.
  package static func prepare(
    _ first: Comparand, _ second: Comparand, parts: [PathBytes]? = nil, aligns: Bool = true,
    walk: WalkOptions, in run: RunContext
  ) throws(BatchError) -> AuditPreparation {
    try AuditPreparation(first, second, parts: parts, aligns: aligns, walk: walk, in: run)
  }

  private init(
    _ first: Comparand, _ second: Comparand, parts: [PathBytes]?, aligns: Bool, walk: WalkOptions,
    in run: RunContext
  ) throws(BatchError) {
    let context = SourceContext(run)
    var failed = 0
    var other: RecordedTree?
    if !second.isFolder {
      other = try Self.tree(of: second, algorithm: .sha256, walk: walk, in: run, failed: &failed)
    }
    let algorithms = other?.algorithms ?? []
    var reference: RecordedTree?
    if !first.isRecord || first.path == "-" {
      let algorithm = algorithms.contains(.sha256) ? .sha256 : algorithms.first ?? .sha256
      reference = try Self.tree(of: first, algorithm: algorithm, walk: walk, in: run, failed: &failed)
    }
    let survey: NameSurvey
    let known: Set<DigestAlgorithm>
    if let reference {
      survey = first.isFolder ? NameSurvey.ofFolder(reference.survey) : reference.survey
      known = reference.algorithms
    } else {
      (survey, known) = try Self.survey(of: first, algorithms, in: context)
    }
    if !algorithms.isEmpty, !known.isEmpty, algorithms.isDisjoint(with: known) {
      func names(_ algorithms: Set<DigestAlgorithm>) -> String {
        algorithms.map(\.rawValue).sorted().joined(separator: ", ")
      }
      throw BatchError(
        .invalid,
        "cannot be compared with \(second.path): one has digests of \(names(known)), the other of \(names(algorithms))",
        path: first.path)
    }
    var live = second.isFolder ? try LiveTree(second.path, options: walk, in: context) : nil
    var alignment = NameAlignment()
    if parts == nil, aligns {
      let folder = second.isFolder ? second.path : first.isFolder ? first.path : nil
      let names = folder.flatMap { try? $0.resolved() }?.bytes.split(separator: UInt8(ascii: "/")) ?? []
      alignment = NameAlignment(survey, other?.survey, folder: names) { [live] place in
        if let live { (try? live.look(at: place)) != nil } else { other?[place.bytes] != nil }
      }
    }
    if case .snapshot(let manifest) = first, live != nil {
      let sources = try SnapshotReader.facts(manifest, in: context).footer.sources
      live = try LiveTree(
        second.path, options: walk,
        sources: sources.compactMap { $0.place?.dropping(alignment.recorded) }, in: context)
    }
    var plan = AuditPlan()
    plan.dropped = alignment.recorded
    plan.beginsWithDot = survey.beginsWithDot && alignment.recorded == 0 && reference == nil
    plan.parts = try parts?.map { (path) throws(BatchError) in try RelativePath(path) }
    switch first {
    case .folder: plan.roots = ["."]
    case .snapshot: break
    case .manifest, .archive: plan.roots = parts ?? survey.roots(dropped: alignment.recorded)
    }
    let target: AuditTarget
    if let other {
      target = .tree(other.dropping(alignment.other))
    } else if let live {
      target = .live(live)
    } else {
      throw BatchError(.invalid, "nothing to compare with", path: second.path)
    }
    if case .manifest(let path) = first { form = try AuditForm(of: path, in: context) } else { form = nil }
    self.first = first
    self.reference = reference
    self.algorithms = algorithms
    self.target = target
    self.plan = plan
    dropped = survey.start(alignment.recorded)
    start = survey.start(survey.prefix.count)
    self.failed = failed
  }

  /// The audit itself.
  ///
  /// - Throws: the error of opening the reference.
  package func source(in run: RunContext) throws(BatchError) -> sending AuditSource {
    let records =
      if let reference {
        AuditRecords(reference)
      } else {
        try AuditRecords(first, preferring: algorithms, in: SourceContext(run))
      }
    return AuditSource(records, target, plan)
  }

  /// Reads all records of one side, or records the content of a folder.
  private static func tree(
    of comparand: Comparand, algorithm: DigestAlgorithm, walk: WalkOptions,
    in run: RunContext, failed: inout Int
  ) throws(BatchError) -> RecordedTree {
    let part = RunContext(sharing: run, stride: .automatic, observer: run.observer)
    let context = SourceContext(part)
    let outcome: RunOutcome<RecordedTree>
    switch comparand {
    case .manifest, .snapshot:
      var records = try AuditRecords(comparand, in: context)
      var found = [RecordedPath]()
      while let item = try records.next() {
        try run.cancellation.check()
        switch item {
        case .item((let record, _)): found.append(record)
        case .problem(let problem):
          run.report(problem, severity: .failure)
          failed += 1
        }
      }
      return RecordedTree(found, hasAllKinds: comparand.hasAllKinds)
    case .folder(let path):
      let live = try LiveTree(path, options: walk, in: context)
      outcome = BatchRunner(part).run(
        FolderRecordJob(live: live, algorithm: algorithm), over: context.tree([path], options: walk))
    case .archive(let path, let keys):
      let reader = try MemberListReader(
        ArchiveFile(path, foreignReader: nil, keys: keys, in: context), details: true, digests: true,
        memory: part.options.memory, by: part.reading)
      let end = reader.end
      outcome = BatchRunner(part).run(MemberRecordJob(), reading: reader)
      if end.findings.isCutShort, outcome.summary.stopped == nil {
        throw BatchError(.malformed, "cannot be compared: the archive was not read to its end", path: path)
      }
    }
    if let stopped = outcome.summary.stopped { throw stopped }
    failed += outcome.summary.counts.failed
    guard let tree = outcome.result else { throw BatchError(.cancelled, "stopped") }
    return tree
  }

  /// Reads the names of a record, and the algorithms of its digests.
  private static func survey(
    of comparand: Comparand, _ preferred: Set<DigestAlgorithm>, in context: SourceContext
  ) throws(BatchError) -> (NameSurvey, Set<DigestAlgorithm>) {
    var survey = NameSurvey()
    var algorithms: Set<DigestAlgorithm> = []
    var records = try AuditRecords(comparand, preferring: preferred, in: context)
    while let item = try records.next() {
      try context.cancellation.check()
      guard case .item((let record, let others)) = item, let place = try? RelativePath(record.path) else {
        continue
      }
      survey.add(record.path, place, isFolder: record.kind == .directory)
      if let digest = record.digest { algorithms.formUnion(([digest] + others).map(\.algorithm)) }
    }
    // Its names do not show whether a whole folder was hashed.
    if records.isMtree { survey.takeWholeFolder() }
    return (survey, algorithms)
  }
}
