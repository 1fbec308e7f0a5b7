import Foundation
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct AdaptiveConcurrencyTests {
  /// Fixed numbers, among them the best ones of the devices below.
  private static let sweep =
    Campaign.isFull ? [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64] : [1, 2, 4, 16, 64]

  @Test(
    "5,000 files on a slow device run at 90 % of the best fixed number's rate, the second half at 97 %",
    arguments: [
      VirtualDevice(latency: 0.004, penalty: 1.5), VirtualDevice(latency: 0.008, penalty: 2.5),
      VirtualDevice(latency: 0.005, width: 16), VirtualDevice(latency: 0.020, width: 16),
      VirtualDevice(latency: 0.040, width: 64), VirtualDevice(latency: 0.100, width: 64),
      VirtualDevice(latency: 0.005, width: 16, jitter: 0.2),
      VirtualDevice(latency: 0.060, width: 64, jitter: 0.1),
    ])
  private func reachesTheBest(device: VirtualDevice) {
    let fixed = Self.sweep.map { VirtualRun(fixed: $0) { _ in device } }
    let best = fixed.map(\.seconds).min() ?? 0
    let bestHalf = fixed.map(\.secondHalf).min() ?? 0
    let adaptive = VirtualRun(fixed: nil) { _ in device }
    #expect(best / adaptive.seconds >= 0.9, "\(adaptive.levels)")
    #expect(bestHalf / adaptive.secondHalf >= 0.97, "\(adaptive.levels)")
  }

  @Test("The number follows within 2 s when a device becomes slow in the middle of a run and fast again")
  func followsChanges() {
    let run = VirtualRun(VirtualFiles(count: 20_000), fixed: nil) { time in
      (6..<12).contains(time)
        ? VirtualDevice(latency: 0.004, penalty: 1.5) : VirtualDevice(latency: 0.040, width: 64)
    }
    #expect(run.level(at: 5.9) >= 48, "\(run.levels)")
    #expect(run.level(at: 8) <= 2, "\(run.levels)")
    #expect(run.level(at: 11.9) <= 2, "\(run.levels)")
    #expect(run.level(at: 14) >= 48, "\(run.levels)")
  }

  @Test(
    "The number stays low when a disk stands still for a second, and rises when the stall lasts",
    arguments: 1...4)
  private func waitsForStalls(seed: UInt64) {
    let files = VirtualFiles(count: 4_000)
    let device = { (time: Double) in
      [2, 7, 12].contains(Int(time))
        ? VirtualDevice(latency: 0.5) : VirtualDevice(latency: 0.003, penalty: 2, jitter: 0.05)
    }
    let fixed = [1, 2, 3, 4].map { VirtualRun(files, fixed: $0, seed: seed, device: device).seconds }
    let run = VirtualRun(files, fixed: nil, seed: seed, device: device)
    #expect(run.levels.allSatisfy { $0.time < 1.9 || $0.level <= 4 }, "\(run.levels)")
    #expect((fixed.min() ?? 0) / run.seconds >= 0.95, "\(run.levels)")
    let slow = VirtualRun(files, fixed: nil, seed: seed) { time in
      time < 2 ? VirtualDevice(latency: 0.001, penalty: 1) : VirtualDevice(latency: 0.1, width: 64)
    }
    #expect(slow.level(at: 8) >= 32, "\(slow.levels)")
  }

  @Test("The number follows a device within 2 s when other programs use the processors too", arguments: 1...6)
  private func followsChangesOnABusyMachine(seed: UInt64) {
    for bustle in [Bustle(wake: 0.002), Bustle(wake: 0.001, stalls: 1, stall: 0.03)] {
      let run = VirtualRun(VirtualFiles(count: 12_000), fixed: nil, seed: seed, bustle: bustle) { time in
        (4..<8).contains(time)
          ? VirtualDevice(latency: 0.006, penalty: 2.5, jitter: 0.1)
          : VirtualDevice(latency: 0.040, width: 64, jitter: 0.1)
      }
      // At least seven tenths of the concurrency that the device can serve.
      #expect(run.level(at: 3.9) >= 45, "\(run.levels)")
      #expect(run.level(at: 6) <= 3, "\(run.levels)")
      #expect(run.level(at: 10) >= 45, "\(run.levels)")
    }
  }

  @Test(
    "Unlike files on a disk that serves many requests take at most 1.2 times as long as with the best number",
    arguments: [0.00005, 0.0003])
  func findsManyForUnlikeFiles(computing: Double) {
    let files = VirtualFiles(
      count: 20_000, computing: computing, deviation: 1.6, deviationOfStretches: 0.7)
    let count: UInt64 = Campaign.isFull ? 5 : 3
    let ratios = (1...count).map { seed in
      let run = {
        VirtualRun(files, fixed: $0, seed: seed) { _ in VirtualDevice(latency: 0.0006, width: 24, jitter: 0.5)
        }
      }
      return run(nil).seconds / ([8, 32, 64].map { run($0).seconds }.min() ?? 1)
    }
    #expect(ratios.sorted()[Int(count) / 2] <= 1.2, "\(ratios)")
  }

  @Test("On a disk that serves many requests, the number is at least 16 after 0.05 s and 48 after 0.15 s")
  func findsManySoon() {
    let run = VirtualRun(fixed: nil) { _ in VirtualDevice(latency: 0.003, width: 64) }
    #expect(run.level(at: 0.05) >= 16, "\(run.levels)")
    #expect(run.level(at: 0.15) >= 48, "\(run.levels)")
  }

  @Test("The number rises when files are no longer in the page cache, and falls when they are again")
  func followsTheCache() {
    let files = VirtualFiles(count: 60_000, computing: 0.00005) { (20_000..<30_000).contains($0) }
    let run = VirtualRun(files, fixed: nil) { _ in VirtualDevice(latency: 0.002, width: 32) }
    // The files in memory, those on the disk and those in memory again take 0.5 s, 0.6 s and 0.75 s.
    #expect(run.levels.allSatisfy { $0.time > 0.4 || $0.level <= 4 }, "\(run.levels)")
    #expect(run.level(at: 0.8) >= 16, "\(run.levels)")
    #expect(run.level(at: run.seconds) <= 3, "\(run.levels)")
  }

  @Test(
    "The number follows stretches of files that are in memory and stretches that are not", arguments: 1...3)
  func followsStretches(seed: UInt64) {
    let files = VirtualFiles(count: 20_000, computing: 0.0001) { ($0 / 2000).isMultiple(of: 2) == false }
    let run = { VirtualRun(files, fixed: $0, seed: seed) { _ in VirtualDevice(latency: 0.004, width: 32) } }
    #expect(run(nil).seconds <= 1.5 * ([2, 16, 32, 64].map { run($0).seconds }.min() ?? 0))
  }

  @Test("The number grows in short steps on a device that many requests may make slow")
  func isCareful() {
    let disk = VirtualRun(fixed: nil, isCareful: true) { _ in VirtualDevice(latency: 0.004, penalty: 1.5) }
    #expect(disk.levels.allSatisfy { $0.level <= 4 }, "\(disk.levels)")
    let other = VirtualRun(fixed: nil, isCareful: true) { _ in VirtualDevice(latency: 0.02, width: 64) }
    #expect(other.level(at: other.seconds) >= 48, "\(other.levels)")
  }

  @Test("The number grows while the lanes wait for a walk that waits for a device")
  func growsForTheWalk() {
    var controller = AdaptiveConcurrency(start: 2, ceiling: 64, processors: 2)
    for turn in 0..<100 {
      _ = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: turn, bytes: 0, processorTime: .milliseconds(turn),
          blocked: 1, running: 0, hasMore: true))
    }
    #expect(controller.level >= 16)
  }

  @Test(
    "The number stays while the lanes wait for a walk that computes, or for a collector", arguments: [0, 2])
  func staysForWhatComputes(running: Int) {
    var controller = AdaptiveConcurrency(start: 2, ceiling: 64, processors: 2)
    for turn in 0..<300 {
      let reason = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: 100 * turn, bytes: 0,
          processorTime: .milliseconds(turn), blocked: 0, running: running, hasMore: true))
      #expect(reason == nil)
    }
  }

  @Test(
    "A number is judged by the operations that are left when these are fewer than the number",
    arguments: [5, 14])
  func judgesTheLastOperations(left: Int) {
    var controller = AdaptiveConcurrency(start: 2, ceiling: 64, processors: 2)
    var (files, turnsWithMore) = (0, 0)
    for turn in 0..<600 {
      // A disk that is slower with more than two operations.
      files += controller.level <= 2 ? 5 : 2
      _ = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: files, bytes: 0, processorTime: .milliseconds(turn),
          blocked: min(controller.level, left), running: min(controller.level, left),
          hasMore: controller.level < left, isExhausted: controller.level >= left))
      if controller.level > 2 { turnsWithMore += 1 }
    }
    #expect((1..<60).contains(turnsWithMore), "of 600")
  }

  @Test("A run whose number is settled takes fewer than 35 readings in a second")
  func restsWhenSettled() {
    let run = VirtualRun(fixed: nil) { _ in VirtualDevice(latency: 0.040, width: 64) }
    #expect(Double(run.readings) < 35 * run.seconds)
  }

  @Test("No other number is tried while the processors are busy", arguments: [1, 2, 4, 8])
  func staysWhereProcessorsAreTheLimit(processors: Int) {
    var controller = AdaptiveConcurrency(
      start: processors, ceiling: 64, processors: Double(processors))
    for turn in 0..<2000 {
      let reason = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: 50 * turn, bytes: 200_000 * Int64(turn),
          processorTime: .milliseconds(9 * processors * turn), blocked: turn % 10 == 0 ? 1 : 0,
          running: processors, hasMore: true))
      #expect(reason == nil)
    }
    #expect(controller.level == processors)
  }

  @Test(
    "A high number falls to that of the processors within half a second when these are busy",
    arguments: [2, 8])
  func fallsWhereProcessorsAreTheLimit(processors: Int) {
    var controller = AdaptiveConcurrency(start: 64, ceiling: 64, processors: Double(processors))
    for turn in 0..<50 {
      _ = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: 100 * turn, bytes: 0,
          processorTime: .milliseconds(10 * processors * turn),
          blocked: turn % 7 == 0 ? 1 : 0, running: controller.level, hasMore: true))
    }
    #expect((processors...processors + 1).contains(controller.level))
  }

  @Test(
    "The number stays when threads compute, and grows when they wait for a device"
  )
  func sharesTheMachine() {
    func last(_ computed: Int, _ blocked: Int) -> Int {
      var controller = AdaptiveConcurrency(start: 2, ceiling: 64, processors: 2)
      for turn in 0..<60 {
        _ = controller.take(
          AdaptiveConcurrency.Reading(
            time: .milliseconds(10 * turn), files: 10 * turn, bytes: 0,
            processorTime: .microseconds(computed * turn),
            blocked: blocked, running: controller.level, hasMore: true))
        if controller.level != 2 { break }
      }
      return controller.level
    }
    #expect(last(5000, 0) == 2)
    #expect(last(300, 1) > 2)
  }

  @Test func oneOperationUsesHalfAProcessor() {
    var controller = AdaptiveConcurrency(start: 1, ceiling: 64, processors: 0.5)
    for turn in 0..<500 {
      _ = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: 50 * turn, bytes: 0,
          processorTime: .milliseconds(5 * turn), blocked: 0, running: 1, hasMore: true))
    }
    #expect(controller.level == 1)
  }

  @Test(arguments: [2, 3, 7, 20]) func isNeverAboveTheCeiling(ceiling: Int) {
    let run = VirtualRun(fixed: nil, ceiling: ceiling) { _ in
      VirtualDevice(latency: 0.02, width: 64)
    }
    #expect(run.levels.map(\.level).max() == ceiling)
  }

  @Test(
    "On a disk that operations slow down, the number falls to 1 although no more long operations can begin",
    arguments: [2, 3, 19])
  func longOperations(count: Int) {
    var controller = AdaptiveConcurrency(start: 2, ceiling: 64, processors: 2)
    var files = 0.0
    for turn in 0..<1000 {
      // All operations of the run have begun; the source waits for room, and does not end.
      let running = min(controller.level, count)
      files += 4.5 * Double(running) / (1 + 2.5 * Double(running - 1))
      _ = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: Int(files), bytes: 0,
          processorTime: .milliseconds(turn / 10),
          blocked: running, running: running, hasMore: turn < 20))
    }
    #expect(controller.level == 1)
  }

  @Test("Five long operations on a slow network run at once for 97 % of two minutes")
  func longOperationsOnANetwork() {
    var controller = AdaptiveConcurrency(start: 2, ceiling: 64, processors: 2)
    var (files, turnsWithFewer) = (0.0, 0)
    for turn in 0..<12_000 {
      let running = min(controller.level, 5)
      files += 0.08 * Double(running)
      _ = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: Int(files), bytes: 0,
          processorTime: .milliseconds(turn / 20),
          blocked: running, running: running, hasMore: controller.level < 5))
      if controller.level < 5 { turnsWithFewer += 1 }
    }
    #expect(turnsWithFewer < 360, "of 12,000")
  }

  @Test func nothingIsConcludedWhileNothingRuns() {
    var controller = AdaptiveConcurrency(start: 4, ceiling: 64, processors: 2)
    for turn in 0..<500 {
      let reason = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: 0, bytes: 0, processorTime: .zero, blocked: 0, running: 0,
          hasMore: false))
      #expect(reason == nil)
    }
  }
}
