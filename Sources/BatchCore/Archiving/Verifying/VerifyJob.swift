import BatchEngine

/// Decodes an archive, compares everything that it says of itself, and keeps nothing.
///
/// Workers decode segments and compare members with a folder; the collector counts what they found, and decides what
/// needs to know all members before.
package struct VerifyJob: BatchJob {
  package typealias Item = VerifyReader.Item

  /// What was found out about a member.
  package struct Finding: Sendable {
    package let path: PathBytes
    /// Why it cannot be extracted as it was; nil when it can.
    package let damage: BatchError?
    /// What the index says of its reading, where the archive has one.
    package var flags: MemberFlags = []
    /// How the folder that the archive is compared with differs; nil where it does not.
    package var difference: Difference?
    /// What is to be said of other members of its name.
    var mark = SupersededMembers.Mark.none

    /// Whether a later member has its name; such a one is not compared with a folder.
    package var isSuperseded: Bool { mark == .superseded }

    /// Whether an earlier member has its name, in an archive that is read once.
    package var supersedes: Bool { mark == .supersedes }
  }

  /// One result of a worker.
  package struct Row: Sendable {
    enum Content: Sendable {
      case finding(Finding)
      /// A member of the archive, with the digest that it has there; only where the archive is compared with a folder.
      case member(PathBytes, Digest?)
      /// A further name that is a file of its own in the folder.
      case separate(Finding, Difference.Aspect, target: RelativePath, content: Digest)
      case note(Verification.Note)
    }

    let content: Content
  }

  private let live: LiveTree?
  private let output: @Sendable ([Finding]) throws(BatchError) -> Void

  /// - Parameters:
  ///   - live: the folder that the source was given.
  ///   - output: takes what was found out about each member, in the order of the archive; one call at a time.
  package init(
    live: LiveTree? = nil, output: @escaping @Sendable ([Finding]) throws(BatchError) -> Void
  ) {
    self.live = live
    self.output = output
  }

  package func makeWorker(in context: WorkerContext) throws(BatchError) -> VerifyWorker {
    VerifyWorker(live.map { LiveComparison($0, countsBytes: false) })
  }

  package func makeCollector(in context: CollectorContext) -> sending Collector { Collector(output) }

  /// Counts findings and hands them on; decides whether the content of a separate file is that of its member.
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
        switch row.content {
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
