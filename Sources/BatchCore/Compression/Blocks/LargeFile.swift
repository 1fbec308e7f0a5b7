import BatchEngine
import Synchronization

/// A file that all lanes compress together, block by block.
public final class LargeFile: Sendable {
  let record: FileRecord
  let plan: BlockPlan
  let blockCount: Int
  let decision: OutputDecision
  private let noted: Mutex<(status: FileStatus, attributes: [ExtendedAttribute])>
  private let isAbandoned = Atomic<Bool>(false)
  private let isTold = Atomic<Bool>(false)

  init(_ record: FileRecord, plan: BlockPlan, decision: OutputDecision) {
    self.record = record
    self.plan = plan
    self.decision = decision
    blockCount = plan.blockCount ?? 0
    noted = Mutex((record.status, []))
  }

  /// Notes what the file is and has when it is read; before its first block is handed on.
  func note(_ status: FileStatus, _ attributes: [ExtendedAttribute]) {
    noted.withLock { $0 = (status, attributes) }
  }

  var seen: (status: FileStatus, attributes: [ExtendedAttribute]) { noted.withLock { $0 } }

  /// Whether the blocks that are left need not be compressed.
  var isGivenUp: Bool { isAbandoned.load(ordering: .relaxed) }

  func giveUp() { isAbandoned.store(true, ordering: .relaxed) }

  /// Whether nothing was told of the file yet: lanes may find at once that it changed, each at its block.
  func isFirstToTell() -> Bool { !isTold.exchange(true, ordering: .relaxed) }
}
