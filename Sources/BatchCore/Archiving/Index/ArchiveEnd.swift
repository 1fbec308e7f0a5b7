import BatchEngine
import Synchronization

/// How the reading of an archive ended.
package final class ArchiveEnd: Sendable {
  private let state = Mutex(
    (isCutShort: false, isDamaged: false, remarks: [String](), unmatched: [UnmatchedGlob]()))

  package init() {}

  /// Whether reading ended before the archive did.
  package var isCutShort: Bool { state.withLock { $0.isCutShort } }

  /// Whether reading ended at damage in an archive that was recognised.
  package var isDamaged: Bool { state.withLock { $0.isDamaged } }

  /// What is odd about the archive, and did not keep a member from being read.
  package var remarks: [String] { state.withLock { $0.remarks } }

  /// Patterns that no member matched; known when all members were looked at.
  package var unmatched: [UnmatchedGlob] { state.withLock { $0.unmatched } }

  func note(unmatched: [UnmatchedGlob]) { state.withLock { $0.unmatched = unmatched } }

  func noteDamage() { state.withLock { $0.isDamaged = true } }

  func cutShort() { state.withLock { $0.isCutShort = true } }

  func note(remarks: [String]) { state.withLock { $0.remarks += remarks } }
}
