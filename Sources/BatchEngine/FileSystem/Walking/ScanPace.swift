import Synchronization

/// How long folders lately took to be scanned.
final class ScanPace: Sendable {
  /// The last folder has the weight of 1 in this many.
  private static let memory: Int64 = 8
  private static let mostFolders = 128.0

  private let average: Atomic<Int64>

  /// - Parameter start: what is supposed before any folder has been scanned.
  init(_ start: Duration) {
    average = Atomic(Self.nanoseconds(start))
  }

  var recent: Duration { .nanoseconds(average.load(ordering: .relaxed)) }

  /// How many folders fit into a time, from 1 to 128.
  func folders(in time: Duration) -> Int {
    Int(min(Self.mostFolders, max(1, time / max(recent, .nanoseconds(1)))))
  }

  /// Adds one folder to the average. Of two at once one may be lost, which does not matter.
  package func note(_ duration: Duration) {
    let old = average.load(ordering: .relaxed)
    average.store(old + (Self.nanoseconds(duration) - old) / Self.memory, ordering: .relaxed)
  }

  /// A folder that takes longer than this is as slow as any.
  private static func nanoseconds(_ duration: Duration) -> Int64 {
    Int64(min(max(duration, .zero), .seconds(1)) / .nanoseconds(1))
  }
}
