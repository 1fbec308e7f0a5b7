import BatchEngine
import Synchronization

/// Facts about an archive as a whole, which are found while its members are read.
package struct ArchiveFindings: Sendable {
  /// Remarks that did not prevent reading any member.
  package internal(set) var remarks: [String] = []
  /// Patterns that no member matched; only if all members were examined.
  package internal(set) var unmatched: [UnmatchedGlob] = []
  /// Whether reading ended before the end of the archive.
  package internal(set) var isCutShort = false
  /// Whether a part of the archive is damaged, even if later members were read.
  package internal(set) var isDamaged = false
}

/// Collects the findings of a reader; other threads can read them.
package final class SharedFindings: Sendable {
  private let state = Mutex(ArchiveFindings())

  package var findings: ArchiveFindings { state.withLock { $0 } }

  func note(_ change: (inout ArchiveFindings) -> Void) { state.withLock { change(&$0) } }

  func cutShort() { note { $0.isCutShort = true } }
}
