import BatchEngine
import BatchOutputs
import Synchronization

/// A large file whose ranges are copied by all lanes.
///
/// The lane that comes first decides and opens the output; the one that finishes last stages it. The collector takes the result with
/// the row of the last range, when all of them have been processed.
package final class LargeCopy: Sendable {
  /// In bytes.
  static let pieceSize: Int64 = 32 << 20

  enum State: Sendable {
    case unopened
    case open(AtomicFile, Output)
    /// With the row for the collector.
    case ended(MirrorRow)
  }

  /// The output while its ranges are written.
  struct Output: Sendable {
    let descriptor: HeldDescriptor
    let folder: OpenFolder
    let before: FileStatus
    let found: FileStatus?
    let attributes: [ExtendedAttribute]
  }

  /// A descriptor that closes with its last user.
  final class HeldDescriptor: Sendable {
    private let descriptor: Descriptor
    var raw: Int32 { descriptor.raw }
    init(_ number: Int32) { descriptor = Descriptor(owning: number) }
  }

  let record: FileRecord
  let place: RelativePath
  let count: Int
  private let state = Mutex(State.unopened)
  private let left: Atomic<Int>
  private let isBroken = Atomic(false)

  init(_ record: FileRecord, _ place: RelativePath) {
    self.record = record
    self.place = place
    count = Int((max(1, record.status.size) - 1) / Self.pieceSize) + 1
    left = Atomic(count)
  }

  func range(_ index: Int) -> Range<UInt64> {
    let start = UInt64(clamping: Int64(index) * Self.pieceSize)
    return start..<min(start + UInt64(Self.pieceSize), UInt64(clamping: record.status.size))
  }

  /// The state, after the lane that comes first has opened the file.
  func opened(_ open: () throws(BatchError) -> State) throws(BatchError) -> State {
    try state.withLock { (state) throws(BatchError) in
      if case .unopened = state { state = try open() }
      return state
    }
  }

  /// Records that a range could not be copied in the kernel; the lane that finishes last copies the file anew.
  func fail() { isBroken.store(true, ordering: .relaxed) }

  var hasFailed: Bool { isBroken.load(ordering: .relaxed) }

  /// Records that a range is finished.
  ///
  /// - Returns: whether it was the last one.
  func finishPiece() -> Bool { left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }

  func end(_ row: MirrorRow) { state.withLock { $0 = .ended(row) } }

  var current: State { state.withLock { $0 } }

  /// The result; nil if the run was stopped before.
  var row: MirrorRow? { state.withLock { if case .ended(let row) = $0 { row } else { nil } } }
}
