import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct OrderedSinkTests {
  private let delivered = Recorder<Int>()

  private func sink() -> OrderedSink<Int> {
    let delivered = delivered
    return OrderedSink { delivered.record($0 / 10) }
  }

  @Test(arguments: 0..<8 as Range<UInt64>) func deliversInOrderWhenResultsArriveInAnyOrder(seed: UInt64)
    async throws
  {
    let sink = sink()
    var numbers = SeededNumbers(seed: seed)
    let shuffled = (0..<400).shuffled(using: &numbers)
    try await onThreads(4) { thread in
      for index in shuffled[(thread * 100)..<(thread * 100 + 100)] { sink.submit(index * 10, at: index) }
    }
    try await onThread { sink.flush() }
    #expect(delivered.values == Array(0..<400))
    #expect(sink.backlog == 0)
  }

  @Test func deliversOneAtATime() async throws {
    let crowd = Crowd()
    let sink = OrderedSink<Int> { _ in
      crowd.enter()
      crowd.leave()
    }
    try await onThreads(4) { thread in
      for index in 0..<100 { sink.submit(0, at: index * 4 + thread) }
    }
    try await onThread { sink.flush() }
    #expect(crowd.most == 1)
  }

  @Test func holdsResultsAfterAGap() async throws {
    let sink = sink()
    try await onThread {
      for index in [1, 2, 4] { sink.submit(index * 10, at: index) }
      sink.flush()
    }
    #expect(delivered.values.isEmpty)
    #expect(sink.backlog == 3)
    try await onThread {
      sink.submit(0, at: 0)
      sink.flush()
    }
    #expect(delivered.values == [0, 1, 2])
    #expect(sink.backlog == 1)
  }

  @Test func callsBackBeforeAndAfterTheDueResultsAreDelivered() async throws {
    let seen = Recorder<[Int]>()
    let delivered = delivered
    let done = Gate()
    let sink = OrderedSink<Int> {
      seen.record(delivered.values)
    } drained: {
      seen.record(delivered.values)
      done.open()
    } deliver: {
      delivered.record($0 / 10)
    }
    try await onThread {
      sink.submit(10, at: 1)
      sink.submit(0, at: 0)
      done.pass()
    }
    #expect(seen.values == [[], [0, 1]])
  }

  @Test func deliversResultsAfterGapsInOrderAtTheEnd() async throws {
    let sink = sink()
    try await onThread {
      for index in [7, 2, 0, 4] { sink.submit(index * 10, at: index) }
      sink.flushPastGaps()
    }
    #expect(delivered.values == [0, 2, 4, 7])
    #expect(sink.backlog == 0)
  }

  @Test func flushesWhatWasSubmittedBefore() async throws {
    let sink = sink()
    try await onThread {
      for index in 0..<200 {
        sink.submit(index * 10, at: index)
        sink.flush()
        guard sink.backlog == 0 else { break }
      }
    }
    #expect(delivered.count == 200)
  }
}
