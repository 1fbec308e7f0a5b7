import BatchCore
import BatchEngine

struct AuditCommand: Command {
  private let first: PathBytes
  /// The other side; several paths are parts of a manifest.
  private let others: [PathBytes]
  private let updates: Bool
  private let keys: AgeKeys?
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    first = parsed.operands.first ?? "-"
    others = Array(parsed.operands.dropFirst())
    updates = parsed.flag(.update)
    keys = try EncryptionChoices.keys(parsed)
    if updates, first == "-" {
      throw UsageError("Standard input cannot be updated.", in: parsed.command)
    }
    if updates, others.count > 1 {
      throw UsageError("--update takes the manifest and one directory.", in: parsed.command)
    }
    session = try Session(common, environment: environment, inputs: 1)
  }

  func run() throws(BatchError) -> Ending {
    let isOfParts = others.count > 1
    let operands = [first, isOfParts ? others[0].isAbsolute ? "/" : "." : others.first ?? "."]
    let context = SourceContext(session.context)
    let keys = session.keys(keys)
    let pair = try operands.map { (path) throws(BatchError) in
      try Comparand(path, keys: keys, in: context)
    }
    try refuseSets(pair)
    if isOfParts, pair[0].isFolder {
      throw BatchError(
        .invalid, "with three or more paths, the first must be the manifest to compare the others with",
        path: first)
    }
    guard updates else {
      return try AuditRun(session: session).compare(pair[0], pair[1], parts: isOfParts ? others : nil)
    }
    guard case .manifest = pair[0], pair[1].isFolder else {
      throw BatchError(
        .invalid, "--update takes a manifest of digests and a directory; only a backup writes its own",
        path: first)
    }
    return try AuditRun(session: session).compare(pair[0], pair[1]) {
      (preparation, tally, failed) throws(BatchError) in
      try update(pair, preparation, tally, failed: failed)
    }
  }

  /// Refuses a folder of snapshots compared with something else: snapshots are compared by their manifests.
  private func refuseSets(_ pair: [Comparand]) throws(BatchError) {
    guard let set = Comparand.setFolder(of: pair[0], pair[1], in: session.context) else { return }
    throw BatchError(
      .invalid, "is a directory of snapshots", path: set, remedy: SetHint.audit(set, in: session.context))
  }

  /// The first of some folders without any file.
  private func emptyFolder(of roots: [PathBytes], _ pair: [Comparand]) throws(BatchError) -> PathBytes? {
    let walk = try AuditRun(session: session).walkOptions(pair[0], pair[1])
    for root in roots {
      var tree = session.context.tree([root], options: walk)
      var hasFile = false
      while !hasFile, let item = tree.next() {
        try session.cancellation.check()
        if case .item(.file) = item { hasFile = true }
      }
      if !hasFile { return root }
    }
    return nil
  }

  /// Replaces the manifest.
  private func update(
    _ pair: [Comparand], _ preparation: AuditPreparation, _ tally: AuditJob.Tally, failed: Int
  ) throws(BatchError) -> Ending {
    let (manifest, directory) = (pair[0].path, pair[1].path)
    guard let form = preparation.form else {
      throw BatchError(.invalid, "has no row that shows the format to write", path: manifest)
    }
    guard failed == 0, tally.counts[.rot] == nil else {
      session.reporter.fatal(
        BatchError(.invalid, "not updated: there is rot, or something could not be read", path: manifest))
      return .exit(tally.isDifferent ? .differences : .someFailed)
    }
    guard tally.isDifferent else { return .exit(.success) }
    let context = RunContext(sharing: session.context, stride: .automatic, observer: session.reporter)
    let roots = preparation.plan.roots.map { $0 == "." ? directory : directory.appending($0.bytes) }
    if tally.counts[.missing] != nil, let empty = try emptyFolder(of: roots, pair) {
      session.reporter.fatal(
        BatchError(
          .invalid, "not updated: it has files of '\(empty)', but that directory has no files any more",
          path: manifest,
          remedy: "mount it; or, if the files were removed on purpose, write a new manifest with 'hash -o'"))
      return .exit(.differences)
    }
    var call = HashCall(try ManifestWriter(form.format, algorithms: form.algorithms, zero: false))
    call.output = .file(.init(manifest, isReplacing: true, isSynced: common.fsync))
    call.isWhole = true
    let (start, dropped) = (directory.appending([]).bytes.count, preparation.dropped)
    call.renames = { PathBytes(dropped + $0.bytes.dropFirst(start)) }
    let walk = try AuditRun(session: session).walkOptions(pair[0], pair[1])
    let outcome = try call.perform(.paths(Operands(roots), walk), in: context, watchedBy: Unwatched()) { _ in
    }
    if let ending = session.endingOfStopped(outcome.summary) { return ending }
    guard outcome.summary.counts.failed == 0 else { return .exit(.someFailed) }
    if let failure = outcome.failure { throw failure }
    session.warn(BatchError(.changed, "updated", path: manifest), as: .note)
    return .exit(.differences)
  }
}
