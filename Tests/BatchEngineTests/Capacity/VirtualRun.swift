import Foundation
import TestSupport

@testable import BatchEngine

/// A device in virtual time: it serves `width` requests at once, and each request in service makes a new one
/// slower.
struct VirtualDevice: Sendable {
  /// How long one request takes, in seconds.
  var latency: Double
  var width = Int.max
  /// The part of the latency that each request in service adds to a new one.
  var penalty = 0.0
  /// The greatest relative deviation of a latency, at random in both directions.
  var jitter = 0.0
}

/// The files of a run, which are all alike by default.
struct VirtualFiles: Sendable {
  var count = 5000
  /// How long one file computes on average, in seconds.
  var computing = 0.0001
  /// The standard deviation of the logarithm of a file's work, and of that of a stretch of 300 files.
  var deviation = 0.0
  var deviationOfStretches = 0.0
  /// Whether a file has to be read from the device, by its number.
  var isCold: @Sendable (Int) -> Bool = { _ in true }
}

/// A machine that other programs use too: a woken thread waits for a processor, and at times no thread runs
/// at all.
struct Bustle: Sendable {
  /// Mean seconds between the end of a request and the moment at which its thread runs; readings are late by
  /// as much.
  var wake = 0.0
  /// How often in a second all threads stop, and for how many seconds on average.
  var stalls = 0.0
  var stall = 0.0
}

/// A run over files on a device, in virtual time, at a fixed or an adaptive concurrency. Operations share the
/// processors.
struct VirtualRun {
  private struct Operation {
    /// When its request is served, its thread runs, or its computing ends.
    var due = 0.0
    var computing: Double
    var weight: Double
  }

  /// Operations in the order of their `due`, the first one at the end of the array.
  private struct Line {
    private(set) var operations: [Operation] = []

    var count: Int { operations.count }
    var due: Double { operations.last?.due ?? .infinity }

    mutating func insert(_ operation: Operation) {
      // The first place behind all operations that are due later.
      var (place, end) = (0, operations.count)
      while place < end {
        let middle = (place + end) / 2
        if operations[middle].due > operation.due { place = middle + 1 } else { end = middle }
      }
      operations.insert(operation, at: place)
    }

    mutating func removeFirst() -> Operation { operations.removeLast() }

    /// Moves all operations that are due before `end` to `end`.
    mutating func hold(until end: Double) {
      for index in operations.indices { operations[index].due = max(operations[index].due, end) }
    }
  }

  private(set) var seconds = 0.0
  /// How long the second half of the files took, in seconds.
  private(set) var secondHalf = 0.0
  private(set) var levels: [(time: Double, level: Int)] = []
  private(set) var readings = 0
  private var numbers: SeededNumbers
  /// A separate generator, so that the files are the same at each concurrency.
  private var numbersOfFiles: SeededNumbers
  private var stretch = 1.0

  /// - Parameters:
  ///   - fixed: a fixed concurrency; nil for one that adapts.
  ///   - device: gives the device at a moment, in seconds from the beginning.
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
    var (waiting, serving, waking, computing) = ([Operation](), Line(), Line(), Line())
    // Operations that compute are due by a separate clock, which advances as fast as each of them computes.
    var (begun, done, computed, clock) = (0, 0, 0.0, 0.0)
    func begin(_ operation: Operation) {
      var operation = operation
      operation.due = clock + operation.computing
      computing.insert(operation)
    }
    levels = [(0, level)]
    while done < files.count {
      while begun < min(files.count, done + level) {
        let operation = operation(begun, files)
        if files.isCold(begun) { waiting.append(operation) } else { begin(operation) }
        begun += 1
      }
      let device = device(time)
      while !waiting.isEmpty, serving.count < device.width {
        var operation = waiting.removeFirst()
        let latency = device.latency * (1 + device.penalty * Double(serving.count)) * operation.weight
        operation.due = time + latency * (1 + device.jitter * Double.random(in: -1...1, using: &numbers))
        serving.insert(operation)
      }
      let share = min(1, processors / Double(max(1, computing.count)))
      let (served, woken) = (serving.due, waking.due)
      let finished = time + (computing.due - clock) / share
      let next = min(min(served, woken), min(finished, nextReading))
      let event = max(time, next)
      if event > nextStall {
        // Threads that would have run during the stall run at its end; the device goes on serving.
        let end = nextStall + wait(bustle.stall)
        waking.hold(until: end)
        nextReading = max(nextReading, end)
        nextStall = end + wait(1 / bustle.stalls)
        continue
      }
      let spent = (event - time) * share
      clock += spent
      computed += spent * Double(computing.count)
      time = event
      if next == served {
        var operation = serving.removeFirst()
        operation.due = time + wait(bustle.wake)
        waking.insert(operation)
      } else if next == woken {
        begin(waking.removeFirst())
      } else if next == finished {
        _ = computing.removeFirst()
        done += 1
        if done == files.count / 2 { secondHalf = -time }
      } else {
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

  /// The concurrency at a moment, in seconds from the beginning.
  func level(at time: Double) -> Int { levels.last { $0.time <= time }?.level ?? 0 }

  private mutating func operation(_ index: Int, _ files: VirtualFiles) -> Operation {
    if index % 300 == 0 { stretch = logNormal(files.deviationOfStretches) }
    let factor = logNormal(files.deviation)
    // Half of the time of a request does not depend on the bytes.
    return Operation(computing: files.computing * factor, weight: (0.5 + 0.5 * factor) * stretch)
  }

  private mutating func wait(_ mean: Double) -> Double {
    mean > 0 ? -mean * log(1 - Double.random(in: 0..<1, using: &numbers)) : 0
  }

  /// A random factor with mean 1, whose logarithm has this standard deviation.
  private mutating func logNormal(_ deviation: Double) -> Double {
    guard deviation > 0 else { return 1 }
    let (angle, chance) = (
      Double.random(in: 0..<1, using: &numbersOfFiles), Double.random(in: 0..<1, using: &numbersOfFiles)
    )
    let normal = (-2 * log(1 - chance)).squareRoot() * cos(2 * .pi * angle)
    return exp(deviation * normal - deviation * deviation / 2)
  }
}
