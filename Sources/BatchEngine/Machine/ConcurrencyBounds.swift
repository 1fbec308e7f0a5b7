/// How many operations may run at once: if they mostly compute, and if they mostly wait for devices.
///
/// A run of `-j auto` begins with ``computing`` and is never raised above ``waiting``.
package struct ConcurrencyBounds: Sendable, Hashable {
  /// One limit, in operations.
  package struct Bound: Sendable, Hashable {
    /// What sets it, for people: "CPU affinity", "memory".
    package let name: String
    package let operations: Int
    /// The system call or file that reported it, and the division that was applied.
    package let source: String
  }

  /// More requests at once were not faster on any measured device; each costs a thread and buffers.
  package static let mostWaiting = 64
  /// The operations together may take this fraction of the memory (1 / n).
  private static let shareOfMemory: UInt64 = 2

  /// Each is 1 or more; the smallest applies.
  package let computing: [Bound]
  package let waiting: [Bound]

  /// - Parameters:
  ///   - descriptors: how many files may take at once.
  ///   - memoryOfLane: bytes that one operation takes at most.
  package init(_ capacity: Capacity, descriptors: Int, descriptorsOfLane: Int, memoryOfLane: Int) {
    let processors = capacity.limits.filter { $0.resource == .processors }.map {
      Bound(name: $0.name, operations: max(1, Int(clamping: $0.value)), source: $0.source)
    }
    var shared = [
      Bound(
        name: "descriptors", operations: max(1, descriptors / max(1, descriptorsOfLane)),
        source: "\(descriptors) for files ÷ \(descriptorsOfLane)")
    ]
    let cost = max(memoryOfLane, FileReader.largeMemory)
    if let limit = capacity.binding(.memory) {
      let part = limit.value / Self.shareOfMemory
      shared.append(
        Bound(
          name: "memory", operations: max(1, Int(clamping: part / UInt64(cost))),
          source: "half of \(limit.name) (\(limit.source)) ÷ \(cost) bytes"))
    }
    computing =
      (processors.isEmpty ? [Bound(name: "unknown", operations: 1, source: "-")] : processors) + shared
    waiting =
      [Bound(name: "requests", operations: Self.mostWaiting, source: "fixed: more bring nothing")] + shared
  }

  package static func binding(_ bounds: [Bound]) -> Bound? { bounds.min { $0.operations < $1.operations } }

  /// The number at which an adaptive run begins.
  package var start: Int { min(Self.binding(computing)?.operations ?? 1, most) }

  /// The highest number of an adaptive run, except if there are more processors.
  package var most: Int {
    let shared = waiting.dropFirst().map(\.operations).min() ?? .max
    let processors = computing.dropLast(waiting.count - 1).map(\.operations).min() ?? 1
    return max(1, min(max(Self.mostWaiting, processors), shared))
  }
}
