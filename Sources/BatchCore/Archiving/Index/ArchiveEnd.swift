import BatchEngine
import Synchronization

/// How the reading of an archive ended.
package final class ArchiveEnd: Sendable {
  private let state = Mutex(
    (isCutShort: false, isDamaged: false, remarks: [String](), unmatched: [UnmatchedGlob]()))

  package init() {}

  /// Whether reading ended before the end of the archive.
  package var isCutShort: Bool { state.withLock { $0.isCutShort } }

  /// Whether reading ended at damage in a recognised archive.
  package var isDamaged: Bool { state.withLock { $0.isDamaged } }

  /// Remarks about the archive that did not prevent reading any member.
  package var remarks: [String] { state.withLock { $0.remarks } }

  /// Patterns that no member matched; known after all members were examined.
  package var unmatched: [UnmatchedGlob] { state.withLock { $0.unmatched } }

  func note(unmatched: [UnmatchedGlob]) { state.withLock { $0.unmatched = unmatched } }

  func noteDamage() { state.withLock { $0.isDamaged = true } }

  func cutShort() { state.withLock { $0.isCutShort = true } }

  func note(remarks: [String]) { state.withLock { $0.remarks += remarks } }
}
