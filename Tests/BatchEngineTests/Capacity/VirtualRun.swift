import Foundation
import TestSupport

@testable import BatchEngine

/// A device in virtual time: so many requests are served at once, and each further one makes a new one slower.
struct VirtualDevice: Sendable {
  /// Seconds of a request.
  var latency: Double
  var width = Int.max
  /// The part of the latency that each request in service adds to a new one.
  var penalty = 0.0
  /// How far a latency may be from what it should be, as a part of it.
  var jitter = 0.0
}

/// The files of a run: alike, unless something else is said.
struct VirtualFiles: Sendable {
  var count = 5000
  /// Seconds of computing that a file takes, on average.
  var computing = 0.0001
  /// How unlike each other files are, and stretches of 300 files, by the deviation of the logarithm of what they take.
  var deviation = 0.0
  var deviationOfStretches = 0.0
  /// Which files are not in memory.
  var isCold: @Sendable (Int) -> Bool = { _ in true }
}

/// A machine that others use too: threads that were woken wait for a processor, and now and then nothing runs at all.
struct Bustle: Sendable {
  /// Mean seconds from the end of a request to the moment at which its thread runs, and by which a reading is late.
  var wake = 0.0
  /// How often in a second nothing runs, and for how many seconds.
  var stalls = 0.0
  var stall = 0.0
}

/// A run over files on a device, in virtual time, at a fixed or an adaptive concurrency. Operations share the processors.
struct VirtualRun {
  private struct Operation {
    /// When its request is served, or it runs; seconds of computing that are left.
    var due = 0.0
    var computing: Double
    var weight: Double
  }

  private(set) var seconds = 0.0
  /// Seconds that the second half of the files took.
  private(set) var secondHalf = 0.0
  private(set) var levels: [(time: Double, level: Int)] = []
  private(set) var readings = 0
  private var numbers: SeededNumbers
  /// Their own, so that the files are the same at each concurrency.
  private var numbersOfFiles: SeededNumbers
  private var stretch = 1.0

  /// - Parameters:
  ///   - fixed: nil to adapt.
  ///   - device: that of a moment.
  init(
    _ files: VirtualFiles = VirtualFiles(), fixed: Int?, seed: UInt64 = 1, processors: Double = 2,
    ceiling: Int = 64, isCareful: Bool = false, bustle: Bustle = Bustle(), device: (Double) -> VirtualDevice
  ) {
    numbers = SeededNumbers(seed: seed)
    numbersOfFiles = SeededNumbers(seed: seed + 1000)
    var controller = AdaptiveConcurrency(
      start: min(2, ceiling), ceiling: ceiling, processors: processors, isCareful: isCareful)
    var level = fixed ?? controller.level
    var (time, nextReading) = (0.0, fixed == nil ? 0.0 : Double.infinity)
    var nextStall = bustle.stalls > 0 ? wait(1 / bustle.stalls) : .infinity
    var (waiting, serving, waking, computing) = ([Operation](), [Operation](), [Operation](), [Operation]())
    var (begun, done, computed) = (0, 0, 0.0)
    levels = [(0, level)]
    while done < files.count {
      while begun < min(files.count, done + level) {
        let operation = operation(begun, files)
        if files.isCold(begun) { waiting.append(operation) } else { computing.append(operation) }
        begun += 1
      }
      let device = device(time)
      while !waiting.isEmpty, serving.count < device.width {
        var operation = waiting.removeFirst()
        let latency = device.latency * (1 + device.penalty * Double(serving.count)) * operation.weight
        operation.due = time + latency * (1 + device.jitter * Double.random(in: -1...1, using: &numbers))
        serving.append(operation)
      }
      let share = min(1, processors / Double(max(1, computing.count)))
      let ends = [
        serving.map(\.due).min(), waking.map(\.due).min(),
        computing.map(\.computing).min().map { time + $0 / share }, nextReading,
      ].map { $0 ?? .infinity }
      let event = max(time, ends.min() ?? time)
      if event > nextStall {
        // What was to happen meanwhile happens at its end; the device goes on.
        let end = nextStall + wait(bustle.stall)
        for index in waking.indices { waking[index].due = max(waking[index].due, end) }
        nextReading = max(nextReading, end)
        nextStall = end + wait(1 / bustle.stalls)
        continue
      }
      let spent = (event - time) * share
      for index in computing.indices { computing[index].computing -= spent }
      computed += spent * Double(computing.count)
      time = event
      switch ends.firstIndex(of: ends.min() ?? 0) {
      case 0:
        var served = serving.remove(at: serving.indices.min { serving[$0].due < serving[$1].due } ?? 0)
        served.due = time + wait(bustle.wake)
        waking.append(served)
      case 1:
        computing.append(waking.remove(at: waking.indices.min { waking[$0].due < waking[$1].due } ?? 0))
      case 2:
        computing.remove(at: computing.indices.min { computing[$0].computing < computing[$1].computing } ?? 0)
        done += 1
        if done == files.count / 2 { secondHalf = -time }
      default:
        readings += 1
        nextReading = time + (controller.isSettled ? 0.05 : 0.01) + wait(bustle.wake)
        let reading = AdaptiveConcurrency.Reading(
          time: .seconds(time), files: done, bytes: Int64(done) * 4096, processorTime: .seconds(computed),
          blocked: waiting.count + serving.count, running: begun - done, hasMore: begun < files.count)
        if controller.take(reading) != nil {
          level = controller.level
          levels.append((time, level))
        }
      }
    }
    (seconds, secondHalf) = (time, secondHalf + time)
  }

  /// The number of operations at a moment.
  func level(at time: Double) -> Int { levels.last { $0.time <= time }?.level ?? 0 }

  private mutating func operation(_ index: Int, _ files: VirtualFiles) -> Operation {
    if index % 300 == 0 { stretch = logNormal(files.deviationOfStretches) }
    let factor = logNormal(files.deviation)
    // Half of what a request takes does not depend on the bytes.
    return Operation(computing: files.computing * factor, weight: (0.5 + 0.5 * factor) * stretch)
  }

  private mutating func wait(_ mean: Double) -> Double {
    mean > 0 ? -mean * log(1 - Double.random(in: 0..<1, using: &numbers)) : 0
  }

  /// Of mean 1.
  private mutating func logNormal(_ deviation: Double) -> Double {
    guard deviation > 0 else { return 1 }
    let (angle, chance) = (
      Double.random(in: 0..<1, using: &numbersOfFiles), Double.random(in: 0..<1, using: &numbersOfFiles)
    )
    let normal = (-2 * log(1 - chance)).squareRoot() * cos(2 * .pi * angle)
    return exp(deviation * normal - deviation * deviation / 2)
  }
}
