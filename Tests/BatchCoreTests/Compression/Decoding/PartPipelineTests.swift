import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Parts that several threads decode.
@Suite(.timeLimit(.minutes(1))) struct PartPipelineTests {
  private let parts: [CompressedPart] = (UInt64(0)..<40).map { index in
    CompressedPart(compressed: index..<(index + 1), plain: (index * 10)..<(index * 10 + 10))
  }

  @Test("arrive in order, and no more of them are in memory than allowed", arguments: [1, 2, 5], [1, 3, 8])
  func order(width: Int, ahead: Int) throws {
    let begun = Atomic<Int>(0)
    let delivered = Atomic<Int>(0)
    let most = Atomic<Int>(0)
    let parts = parts
    let pipeline = PartPipeline(parts, width: width, ahead: ahead, largest: 1000) { part, _, output in
      let count = begun.add(1, ordering: .sequentiallyConsistent).newValue
      most.max(count - delivered.load(ordering: .sequentiallyConsistent), ordering: .relaxed)
      output = [UInt8(part.compressed.lowerBound)]
      return .init(count: 1)
    }
    var numbers: [UInt8] = []
    let isWhole = try pipeline.run { (content) throws(BatchError) in
      numbers += content.bytes.prefix(content.measure.count)
      delivered.add(1, ordering: .sequentiallyConsistent)
    }
    #expect(isWhole)
    #expect(numbers == (0..<40).map { UInt8($0) })
    // One part may have been delivered and not yet counted.
    #expect(most.load(ordering: .relaxed) <= ahead + 1)
  }

  @Test("end before the damaged one, and when their receiver throws", arguments: [1, 3])
  func ends(width: Int) throws {
    let pipeline = PartPipeline(parts, width: width, ahead: 6, largest: 1000) { part, _, _ in
      part.compressed.lowerBound == 17 ? nil : .init(count: 0)
    }
    var count = 0
    #expect(try !pipeline.run { _ in count += 1 })
    #expect(count == 17)
    let other = PartPipeline(parts, width: width, ahead: 6, largest: 1000) { _, _, _ in .init(count: 0) }
    expectError(.cancelled) {
      try other.run { (_) throws(BatchError) in throw BatchError(.cancelled, "stop") }
    }
  }

  @Test(
    "are decoded by as many threads as requested, which leave the global queues to others",
    arguments: [1, 2, 40])
  func threads(width: Int) throws {
    let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let decoding = Atomic<Int>(0)
    let most = Atomic<Int>(0)
    let pipeline = PartPipeline(parts, width: width, ahead: 40, largest: 1000) { _, _, _ in
      most.max(decoding.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
      begun.signal()
      gate.wait()
      decoding.subtract(1, ordering: .relaxed)
      return .init(count: 0)
    }
    let ended = DispatchGroup()
    let isWhole = Mutex(false)
    DispatchQueue(label: "receiver").async(group: ended) {
      let found = (try? pipeline.run { _ in }) ?? false
      isWhole.withLock { $0 = found }
    }
    for _ in 0..<width { begun.wait() }
    let other = DispatchSemaphore(value: 0)
    // A completion block of an operation runs there.
    DispatchQueue.global().async { other.signal() }
    other.wait()
    for _ in parts { gate.signal() }
    ended.wait()
    #expect(isWhole.withLock { $0 })
    #expect(most.load(ordering: .relaxed) == width)
  }

  @Test func aLargePartWaitsUntilTheOthersAreReleased() throws {
    let decoding = Atomic<Int>(0)
    let most = Atomic<Int>(0)
    let pipeline = PartPipeline(parts, width: 4, ahead: 8, largest: 15) { _, _, _ in
      most.max(decoding.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
      decoding.subtract(1, ordering: .relaxed)
      return .init(count: 0)
    }
    #expect(try pipeline.run { _ in })
    #expect(most.load(ordering: .relaxed) <= 2)
  }
}
