import BatchEngine

/// The result of one entry of a manifest.
package enum CheckOutcome: String, Sendable {
  case matches
  case differs
  /// The file does not exist.
  case missing
  /// The file exists, or existed, but could not be read.
  case unreadable
}

/// The results of the entries of one chunk, in the order of the manifest.
package struct CheckedChunk: ChunkOutput, Sendable {
  enum Finding: Sendable {
    case entry(CheckOutcome)
    /// An entry whose file has another digest.
    case different(PathBytes)
    /// A missing file that the options ignore.
    case ignored
    case malformed
    /// A line of a manifest that is not a row: the reason, with its number and the manifest's path.
    case text(BatchError)
    /// A manifest that could not be opened or read to its end.
    case unreadableManifest
    /// A manifest without rows.
    case malformedManifest
  }

  /// A row for each finding; an entry without output has an empty row.
  package private(set) var rows = ResultRows()
  private(set) var findings: [Finding] = []

  package init() {}

  package var count: Int { findings.count }

  package func part(_ range: Range<Int>) -> CheckedChunk {
    var part = CheckedChunk()
    part.rows = rows.part(range)
    part.findings = findings.part(range)
    return part
  }

  /// Lines of manifests that are not rows: the reasons, with the number of the line and the manifest's path.
  package var text: [BatchError] {
    findings.compactMap { if case .text(let error) = $0 { error } else { nil } }
  }

  /// The names of the files with other digests.
  package var different: [PathBytes] {
    findings.compactMap { if case .different(let path) = $0 { path } else { nil } }
  }

  mutating func append(_ finding: Finding, row: (inout [UInt8]) -> Void = { _ in }) {
    findings.append(finding)
    rows.append(row)
  }
}

extension CheckTally {
  mutating func count(_ finding: CheckedChunk.Finding) {
    switch finding {
    case .entry(.matches): matches += 1
    case .entry(.differs), .different: differs += 1
    case .entry(.missing): missing += 1
    case .entry(.unreadable): unreadable += 1
    case .ignored: ignored += 1
    case .malformed: malformed += 1
    case .text: text += 1
    case .unreadableManifest: unreadableManifests += 1
    case .malformedManifest: malformedManifests += 1
    }
  }
}
