import BatchCore
import BatchEngine

/// How many members of an archive are not as they were, by what is the matter with them.
struct VerifyTally: Sendable {
  private(set) var damaged = 0
  /// Members that were not read as they stood, among them those of which a part is missing.
  private(set) var changed = 0
  private(set) var incomplete = 0
  private var counts: [LiveDifference.Class: Int] = [:]

  mutating func count(_ finding: VerifyJob.Finding) {
    if finding.damage != nil { damaged += 1 }
    if !finding.flags.isEmpty { changed += 1 }
    if finding.flags.contains(.incomplete) { incomplete += 1 }
    if let difference = finding.difference { counts[difference.kind, default: 0] += 1 }
  }

  /// Each class with its name, also those of which there is none.
  var differences: [(Int, String)] {
    LiveDifference.Class.allCases.map { (counts[$0] ?? 0, $0.rawValue) }
  }

  var isDifferent: Bool { damaged > 0 || !counts.isEmpty }
}
