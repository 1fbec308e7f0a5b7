import BatchEngine
import Synchronization

/// The steps in which the file systems of a target store times: a nanosecond on most, two seconds on FAT.
///
/// Determined once for each file system, with a temporary file, when two times differ by less than the largest step.
final class TimeSteps: Sendable {
  private static let largest: Int64 = 2_000_000_000
  /// An odd second, and all digits of a nanosecond.
  private static let trial = FileStatus.Time(seconds: 1_000_000_001, nanoseconds: 123_456_789)

  private let steps = Mutex<[UInt64: Int64]>([:])
  private let area: StagingArea
  /// Whether nothing may be written; then each difference counts.
  private let isExact: Bool

  init(_ area: StagingArea, isExact: Bool) {
    (self.area, self.isExact) = (area, isExact)
  }

  /// Whether a time, stored in a folder, becomes the other one.
  func areEqual(_ time: FileStatus.Time, _ stored: FileStatus.Time, in folder: OpenFolder) -> Bool {
    if time == stored { return true }
    guard !isExact, let difference = Self.difference(time, stored), difference < Self.largest else {
      return false
    }
    return difference < step(of: folder)
  }

  private static func difference(_ time: FileStatus.Time, _ other: FileStatus.Time) -> Int64? {
    let (seconds, isHuge) = time.seconds.subtractingReportingOverflow(other.seconds)
    guard !isHuge, abs(seconds.clamped(to: 3)) < 3 else { return nil }
    return abs(seconds * 1_000_000_000 + Int64(time.nanoseconds) - Int64(other.nanoseconds))
  }

  private func step(of folder: OpenFolder) -> Int64 {
    // Other threads wait, so that only one of them changes the time of a folder by its temporary file.
    steps.withLock { steps in
      let step = steps[folder.identity.device] ?? measure(in: folder)
      steps[folder.identity.device] = step
      return step
    }
  }

  private func measure(in folder: OpenFolder) -> Int64 {
    do throws(BatchError) {
      // A file without a name leaves nothing behind, also after a power cut.
      if let file = try TemporaryFile.unnamed(in: folder, permissions: 0o600, area: area) {
        return Self.measure(file.raw, folder.calls)
      }
      let file = try TemporaryFile(in: folder, area: area)
      return Self.measure(file.raw, folder.calls)
    } catch {
      return 1
    }
  }

  private static func measure(_ file: Int32, _ calls: any FileSystemCalls) -> Int64 {
    guard calls.setTimes(of: file, accessed: nil, modified: trial) == 0,
      let stored = (try? calls.status(of: file))?.modified
    else { return 1 }
    return step(storing: stored)
  }

  /// The step of a file system that stored the trial like this.
  static func step(storing stored: FileStatus.Time) -> Int64 {
    guard stored.seconds == trial.seconds else { return largest }
    var step: Int64 = 1
    while step < 1_000_000_000 {
      if Int64(trial.nanoseconds) / step * step == Int64(stored.nanoseconds) { return step }
      step *= 10
    }
    return 1_000_000_000
  }
}

extension Int64 {
  /// The nearest number from -limit to limit.
  fileprivate func clamped(to limit: Int64) -> Int64 { Swift.min(limit, Swift.max(-limit, self)) }
}
