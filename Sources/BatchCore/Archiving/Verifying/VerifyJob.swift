import BatchEngine

/// Decodes an archive and compares all its checksums and facts, without writing anything.
///
/// Workers decode segments and compare members with a folder. The collector counts their findings, and decides about members
/// that depend on earlier ones.
package struct VerifyJob: BatchJob {
  package typealias Item = VerifyReader.Item

  /// The result for one member.
  package struct Finding: Sendable {
    package let path: PathBytes
    /// The damage that prevents extracting it unchanged; nil if there is none.
    package let damage: BatchError?
    /// The flags in the index about how the member was read, if the archive has an index.
    package var flags: MemberFlags = []
    /// How the folder differs from the archive; nil if it does not.
    package var difference: Difference?
    /// Whether other members have its name.
    package var mark = SupersededMembers.Mark.none
  }

  /// One result of a worker, or of the reader.
  package enum Row: Sendable {
    case finding(Finding)
    /// A member of the archive with its digest there; only if the archive is compared with a folder.
    case member(PathBytes, Digest?)
    /// A hard link of the archive that is a separate file in the folder.
    case separate(Finding, Difference.Aspect, target: RelativePath, content: Digest)
    case note(Verification.Note)
  }

  private let live: LiveTree?
  private let output: @Sendable ([Finding]) throws(BatchError) -> Void

  /// - Parameters:
  ///   - live: the folder that the source uses.
  ///   - output: receives the finding about each member, in the order of the archive; one call at a time.
  package init(
    live: LiveTree? = nil, output: @escaping @Sendable ([Finding]) throws(BatchError) -> Void
  ) {
    self.live = live
    self.output = output
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) throws(BatchError) -> VerifyWorker {
    VerifyWorker(live.map { LiveComparison($0, countsBytes: false) })
  }

  package func add(_ row: Row, in context: WorkerContext, to rows: inout [Row]) { rows.append(row) }

  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector {
    Collector(output)
  }

  /// Counts findings and passes them on; decides whether a separate file has the content of its member.
  package final class Collector: BatchCollector {
    private let output: @Sendable ([Finding]) throws(BatchError) -> Void
    private var verification = Verification()
    private var digests = RecordedDigests()

    init(_ output: @escaping @Sendable ([Finding]) throws(BatchError) -> Void) {
      self.output = output
    }

    package func collect(_ rows: [Row]) throws(BatchError) {
      var findings = [Finding]()
      for row in rows {
        switch row {
        case .finding(let finding): findings.append(finding)
        case .member(let path, let digest): digests.add(path, digest)
        case .separate(var finding, let aspect, let target, let content):
          let isSame = digests.isContent(content, of: target) ?? true
          finding.difference = Difference(isSame ? .metadata : .modified, [aspect])
          findings.append(finding)
        case .note(let note): verification.add(note)
        }
      }
      for finding in findings { verification.count(finding) }
      if !findings.isEmpty { try output(findings) }
    }

    package func finish() -> Verification { verification }
  }
}
