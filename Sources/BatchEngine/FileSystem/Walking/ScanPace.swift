import Synchronization

/// A moving average of the time to scan a folder.
final class ScanPace: Sendable {
  /// The last folder has the weight 1 / memory.
  private static let memory: Int64 = 8
  private static let mostFolders = 128.0

  private let average: Atomic<Int64>

  /// - Parameter start: the assumed time before any folder has been scanned.
  init(_ start: Duration) {
    average = Atomic(Self.nanoseconds(start))
  }

  var recent: Duration { .nanoseconds(average.load(ordering: .relaxed)) }

  /// How many folders can be scanned in a given time, from 1 to 128.
  func folders(in time: Duration) -> Int {
    Int(min(Self.mostFolders, max(1, time / max(recent, .nanoseconds(1)))))
  }

  /// Adds one folder to the average. If two threads add at once, one value may be lost, which does not matter.
  package func note(_ duration: Duration) {
    let old = average.load(ordering: .relaxed)
    average.store(old + (Self.nanoseconds(duration) - old) / Self.memory, ordering: .relaxed)
  }

  /// Longer times are clamped.
  private static func nanoseconds(_ duration: Duration) -> Int64 {
    Int64(min(max(duration, .zero), .seconds(1)) / .nanoseconds(1))
  }
}
