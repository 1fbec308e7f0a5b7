import Dispatch
import Synchronization

/// Runs one operation at a time, and keeps what operations share: the reader with its buffers, the worker of the job, and the
/// tokens for the descriptors and memory of both.
///
/// Only code that runs on the lane uses it. Until the lane is idle it keeps its tokens and the last folder open: the next
/// operation usually reads there too.
package final class Lane {
  // A key is only an address, so it is safe to share; its type does not declare that.
  private nonisolated(unsafe) static let key = DispatchSpecificKey<Lane>()

  /// The lane that this code runs on; nil elsewhere.
  static var current: Lane? { DispatchQueue.getSpecific(key: key) }

  package let reader: FileReader
  let position: LanePosition
  /// The lanes that this one belongs to, which outlive each operation; nil on the caller's thread.
  weak var pool: LanePool?
  /// The gate of the pool, kept here because a weak reference costs a lock each time.
  var gate = LaneGate()
  /// The position of the lane's operation in the order in which operations began: the oldest continue first. Nil for a helper queue.
  var turn: Int? = 0
  /// How long the lane was held back since the last measured time of a file.
  var heldTime = Duration.zero
  /// Made when the lane first processes a chunk.
  var worker: AnyObject?
  private let descriptors: DescriptorBudget
  private let memory: MemoryBudget
  private var heldDescriptors = 0
  private var heldMemory = 0

  init(run: RunContext) {
    reader = FileReader(calls: run.calls, mostHoles: run.options.mostHoles, by: ReadingRight())
    position = run.filesInProgress.addLane()
    descriptors = run.descriptors
    memory = run.memory
  }

  deinit { rest() }

  /// The serial queue of the lane, which owns it: the lane is freed with the queue.
  ///
  /// A serial queue gets a thread immediately. A concurrent queue that needs more threads than cores gets only one more each
  /// second.
  ///
  /// - Parameter number: nil for a helper queue beside the lanes.
  func makeQueue(number: Int?) -> DispatchQueue {
    let queue = DispatchQueue(label: number.map { "batchproc.lane.\($0)" } ?? "batchproc.reader")
    queue.setSpecific(key: Self.key, value: self)
    // This lane may wait for tokens that a held-back lane has, so that lane may continue during the wait.
    BlockingWait.surround(on: queue) { wait in
      guard let lane = Lane.current, lane.turn != nil, let pool = lane.pool else { return wait() }
      pool.block()
      wait()
      pool.unblock()
    }
    return queue
  }

  /// Takes the tokens that the next chunk needs, unless the lane already has exactly these.
  ///
  /// All threads take them in the same order: descriptors in one step, then memory in one step, then places for outputs. A
  /// thread that holds memory never waits for descriptors, so that threads never wait in a circle: ``TokenOrder``.
  func hold(descriptors count: Int, memory byteCount: Int) {
    if heldDescriptors == count, heldMemory == byteCount { return }
    rest()
    descriptors.take(count)
    heldDescriptors = count
    memory.take(byteCount)
    heldMemory = byteCount
  }

  /// Closes the last folder, then gives the tokens back.
  func rest() {
    reader.closeFolder()
    if heldMemory > 0 { memory.giveBack(heldMemory) }
    if heldDescriptors > 0 { descriptors.giveBack(heldDescriptors) }
    heldMemory = 0
    heldDescriptors = 0
  }

  /// Gives the tokens back if a thread waits for tokens.
  func restIfAwaited() {
    if descriptors.isAwaited || memory.isAwaited { rest() }
  }
}

/// What a lane checks before every file and every buffer.
final class LaneGate: Sendable {
  private let crowded = Atomic<Bool>(false)

  /// Whether a lane must check that it may continue: ``LanePool/pass(_:)``.
  var isCrowded: Bool { crowded.load(ordering: .relaxed) }

  func set(isCrowded: Bool) { crowded.store(isCrowded, ordering: .relaxed) }
}
