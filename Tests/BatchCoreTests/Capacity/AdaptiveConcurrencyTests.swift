import Foundation
import TestSupport
import Testing

@testable import BatchEngine

/// A device in virtual time: so many requests are served at once, and each further one makes a new one slower.
private struct VirtualDevice: Sendable {
  /// Seconds of a request.
  var latency: Double
  var width = Int.max
  /// The part of the latency that each request in service adds to a new one.
  var penalty = 0.0
  /// How far a latency may be from what it should be, as a part of it.
  var jitter = 0.0
}

/// A machine that others use too: threads that were woken wait for a processor, and now and then nothing runs at all.
private struct Bustle: Sendable {
  /// Mean seconds from the end of a request to the moment at which its thread runs, and by which a reading is late.
  var wake = 0.0
  /// How often in a second nothing runs, and for how many seconds.
  var stalls = 0.0
  var stall = 0.0
}

/// A run over files on a device, in virtual time, at a fixed or an adaptive concurrency.
private struct VirtualRun {
  private(set) var seconds = 0.0
  /// Seconds that the second half of the files took.
  private(set) var secondHalf = 0.0
  private(set) var levels: [(time: Double, level: Int)] = []

  /// - Parameters:
  ///   - fixed: nil to adapt.
  ///   - processor: seconds of computing for each file.
  ///   - device: that of a moment.
  init(
    files total: Int, fixed: Int?, seed: UInt64 = 1, processor: Double = 0.0001, processors: Double = 2,
    ceiling: Int = 64, bustle: Bustle = Bustle(), device: (Double) -> VirtualDevice
  ) {
    var numbers = SeededNumbers(seed: seed)
    var controller = AdaptiveConcurrency(start: 2, ceiling: ceiling, processors: processors)
    var level = fixed ?? controller.level
    var (time, nextReading, half) = (0.0, 0.01, 0.0)
    func wait(_ mean: Double) -> Double {
      mean > 0 ? -mean * log(1 - Double.random(in: 0..<1, using: &numbers)) : 0
    }
    var nextStall = bustle.stalls > 0 ? wait(1 / bustle.stalls) : .infinity
    var serving: [Double] = []
    var waking: [Double] = []
    var (waiting, running, begun, done) = (0, 0, 0, 0)
    levels = [(0, level)]
    while done < total {
      while running < level, begun < total {
        running += 1
        begun += 1
        waiting += 1
      }
      let device = device(time)
      while waiting > 0, serving.count < device.width {
        waiting -= 1
        let latency = device.latency * (1 + device.penalty * Double(serving.count))
        serving.append(
          time + latency * (1 + device.jitter * Double.random(in: -1...1, using: &numbers)))
      }
      let (served, next) = (serving.min() ?? .infinity, waking.min() ?? .infinity)
      time = max(time, min(served, next, nextReading))
      if time > nextStall {
        // What was to happen meanwhile happens at its end; the device goes on.
        let end = nextStall + wait(bustle.stall)
        for index in waking.indices { waking[index] = max(waking[index], end) }
        nextReading = max(nextReading, end)
        nextStall = end + wait(1 / bustle.stalls)
        time = max(time, min(served, waking.min() ?? .infinity, nextReading))
      }
      if served <= min(next, nextReading) {
        serving.remove(at: serving.firstIndex(of: served) ?? 0)
        waking.append(served + wait(bustle.wake))
      } else if next <= nextReading {
        waking.remove(at: waking.firstIndex(of: next) ?? 0)
        running -= 1
        done += 1
        if done == total / 2 { half = time }
      } else {
        nextReading = time + 0.01 + wait(bustle.wake)
        guard fixed == nil else { continue }
        let reading = AdaptiveConcurrency.Reading(
          time: .seconds(time), files: done, bytes: Int64(done) * 4096,
          processorTime: .seconds(processor * Double(done)), running: running, hasMore: begun < total)
        if controller.take(reading) != nil {
          level = controller.level
          levels.append((time, level))
        }
      }
    }
    (seconds, secondHalf) = (time, time - half)
  }

  /// The number of operations at a moment.
  func level(at time: Double) -> Int { levels.last { $0.time <= time }?.level ?? 0 }
}

@Suite struct AdaptiveConcurrencyTests {
  private static let sweep = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]

  @Test(
    "5,000 files on a slow device: 90 % of the best fixed number, and 97 % in the second half",
    arguments: [
      VirtualDevice(latency: 0.004, penalty: 1.5), VirtualDevice(latency: 0.008, penalty: 2.5),
      VirtualDevice(latency: 0.005, width: 16), VirtualDevice(latency: 0.020, width: 16),
      VirtualDevice(latency: 0.040, width: 64), VirtualDevice(latency: 0.100, width: 64),
      VirtualDevice(latency: 0.005, width: 16, jitter: 0.2),
      VirtualDevice(latency: 0.060, width: 64, jitter: 0.1),
    ])
  private func reachesTheBest(device: VirtualDevice) {
    let fixed = Self.sweep.map { VirtualRun(files: 5000, fixed: $0) { _ in device } }
    let best = fixed.map(\.seconds).min() ?? 0
    let bestHalf = fixed.map(\.secondHalf).min() ?? 0
    let adaptive = VirtualRun(files: 5000, fixed: nil) { _ in device }
    #expect(best / adaptive.seconds >= 0.9, "\(adaptive.levels)")
    #expect(bestHalf / adaptive.secondHalf >= 0.97, "\(adaptive.levels)")
  }

  @Test("A device that becomes slow in the middle, and fast again, is followed within 2 s")
  func followsChanges() {
    let run = VirtualRun(files: 20_000, fixed: nil) { time in
      (6..<12).contains(time)
        ? VirtualDevice(latency: 0.004, penalty: 1.5) : VirtualDevice(latency: 0.040, width: 64)
    }
    #expect(run.level(at: 5.9) >= 48, "\(run.levels)")
    #expect(run.level(at: 8) <= 2, "\(run.levels)")
    #expect(run.level(at: 11.9) <= 2, "\(run.levels)")
    #expect(run.level(at: 14) >= 48, "\(run.levels)")
  }

  @Test("It is followed within 2 s on a machine that others use too", arguments: 1...20)
  private func followsChangesOnABusyMachine(seed: UInt64) {
    for bustle in [Bustle(wake: 0.002), Bustle(wake: 0.001, stalls: 1, stall: 0.03)] {
      let run = VirtualRun(files: 12_000, fixed: nil, seed: seed, bustle: bustle) { time in
        (4..<8).contains(time)
          ? VirtualDevice(latency: 0.006, penalty: 2.5, jitter: 0.1)
          : VirtualDevice(latency: 0.040, width: 64, jitter: 0.1)
      }
      // At least seven tenths of what the device can do.
      #expect(run.level(at: 3.9) >= 45, "\(run.levels)")
      #expect(run.level(at: 6) <= 3, "\(run.levels)")
      #expect(run.level(at: 10) >= 45, "\(run.levels)")
    }
  }

  @Test("Where the processors are busy nothing is tried", arguments: [1, 2, 4, 8])
  func staysWhereProcessorsAreTheLimit(processors: Int) {
    var controller = AdaptiveConcurrency(
      start: processors, ceiling: 64, processors: Double(processors))
    for turn in 0..<2000 {
      let reason = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: 50 * turn, bytes: 200_000 * Int64(turn),
          processorTime: .milliseconds(9 * processors * turn), running: processors, hasMore: true))
      #expect(reason == nil)
    }
    #expect(controller.level == processors)
  }

  @Test(
    "Beside others, threads that compute get a part of a processor, and those that wait for a device wake late"
  )
  func sharesTheMachine() {
    func last(_ computed: Int, _ waited: Int) -> Int {
      var controller = AdaptiveConcurrency(start: 2, ceiling: 64, processors: 2)
      for turn in 0..<60 {
        _ = controller.take(
          AdaptiveConcurrency.Reading(
            time: .milliseconds(10 * turn), files: 10 * turn, bytes: 0,
            processorTime: .microseconds(computed * turn), waitingTime: .microseconds(waited * turn),
            running: controller.level, hasMore: true))
        if controller.level != 2 { break }
      }
      return controller.level
    }
    #expect(last(5000, 14_000) == 2)
    #expect(last(300, 9_000) > 2)
  }

  @Test func halfAProcessorIsUsedByHalfOfOne() {
    var controller = AdaptiveConcurrency(start: 1, ceiling: 64, processors: 0.5)
    for turn in 0..<500 {
      _ = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: 50 * turn, bytes: 0,
          processorTime: .milliseconds(5 * turn), running: 1, hasMore: true))
    }
    #expect(controller.level == 1)
  }

  @Test(
    "The last operations begin together where more are no slower, and where no more wait than run",
    arguments: [(4, 1.0, true), (4, 0.5, false), (22, 1.0, false)])
  func endsTogether(operations: Int, rateOfMore: Double, isExpected: Bool) {
    var controller = AdaptiveConcurrency(start: 2, ceiling: 64, processors: 2)
    var (files, reasons) = (0.0, [ConcurrencyChange.Reason]())
    for turn in 0..<400 {
      files += 10 * (controller.level > 2 ? rateOfMore : 1)
      let reason = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: Int(files), bytes: 0, processorTime: .zero,
          running: controller.level, hasMore: false, waiting: max(0, operations - controller.level)))
      if let reason { reasons.append(reason) }
    }
    #expect(reasons.contains(.ending) == isExpected)
    #expect(controller.level == operations || !isExpected, "\(reasons)")
  }

  @Test("A step down that seems a little slower for a moment is measured again before it is taken back")
  func doubtsASmallLoss() {
    // Fewer operations are as fast; the first window of each step down reads 10 % less.
    var controller = AdaptiveConcurrency(start: 8, ceiling: 8, processors: 2, isKnown: true)
    var (files, changed) = (0.0, -100)
    for turn in 0..<300 {
      files += turn - changed < 8 ? 9 : 10
      let level = controller.level
      _ = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: Int(files), bytes: 0, processorTime: .zero,
          running: controller.level, hasMore: true))
      if controller.level != level { changed = turn }
    }
    #expect(controller.level == 1)
  }

  @Test(arguments: [2, 3, 7, 20]) func isNeverAboveTheCeiling(ceiling: Int) {
    let run = VirtualRun(files: 5000, fixed: nil, ceiling: ceiling) { _ in
      VirtualDevice(latency: 0.02, width: 64)
    }
    #expect(run.levels.map(\.level).max() == ceiling)
  }

  @Test func nothingIsConcludedWhileNothingRuns() {
    var controller = AdaptiveConcurrency(start: 4, ceiling: 64, processors: 2)
    for turn in 0..<500 {
      let reason = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(10 * turn), files: 0, bytes: 0, processorTime: .zero, running: 0, hasMore: false
        ))
      #expect(reason == nil)
    }
  }

  /// Recorded on the slow device of the test support, one reading a line: milliseconds, files, bytes, milliseconds of
  /// computing and of waiting for processors, operations that run, whether there were more, and the number that was decided upon.
  @Test(arguments: ["disk", "ssd", "network", "change", "busy", "memory"])
  func decidesAsInTheRecordedRun(name: String) throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("SlowDevice/traces/\(name).tsv")
    var controller = AdaptiveConcurrency(start: 2, ceiling: 64, processors: 2)
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    #expect(lines.count > 10)
    for line in lines {
      let fields = line.split(separator: "\t").compactMap { Int($0) }
      try #require(fields.count == 8)
      _ = controller.take(
        AdaptiveConcurrency.Reading(
          time: .milliseconds(fields[0]), files: fields[1], bytes: Int64(fields[2]),
          processorTime: .milliseconds(fields[3]), waitingTime: .milliseconds(fields[4]),
          running: fields[5], hasMore: fields[6] == 1))
      #expect(controller.level == fields[7], "at \(fields[0]) ms")
    }
  }

  /// Recorded beside four programs that computed on two processors. The device is a network mount of 64 ways that is a disk
  /// from 3 s to 8 s after the first request, which came 0.1 s after the start.
  @Test func followsInTheTraceOfABusyMachine() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("SlowDevice/traces/busy.tsv")
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    let levels = lines.map { $0.split(separator: "\t").compactMap { Int($0) } }.map { ($0[0], $0[7]) }
    func level(at moment: Int) -> Int { levels.last { $0.0 <= moment }?.1 ?? 0 }
    #expect(level(at: 3000) >= 32)
    #expect(level(at: 5100) <= 2)
    #expect(level(at: 10_100) >= 45)
    #expect((5100..<8000).allSatisfy { level(at: $0) <= 2 })
  }
}
