import Glibc
import TestSupport
import Testing

@testable import BatchEngine

/// What a lane keeps between operations.
@Suite(.timeLimit(.minutes(3))) struct LaneTests {
  private static func context(descriptors: Int) -> RunContext {
    var options = BatchOptions()
    options.descriptors = descriptors
    return RunContext(options: options)
  }

  @Test func keepsItsTokensUntilItRests() async throws {
    let run = Self.context(descriptors: 2)
    try await onThread {
      let first = Lane(run: run)
      first.hold(descriptors: 2, memory: 1)
      // Holding the same tokens again takes none, and does not wait for those that the lane itself has.
      first.hold(descriptors: 2, memory: 1)
      first.rest()
      let second = Lane(run: run)
      second.hold(descriptors: 2, memory: 1)
      second.rest()
    }
  }

  @Test func givesTokensBackWhenAnotherThreadWaits() async throws {
    let run = Self.context(descriptors: 2)
    let taken = Gate()
    try await onThreads(2) { thread in
      if thread == 0 {
        let lane = Lane(run: run)
        lane.hold(descriptors: 2, memory: 1)
        taken.open()
        while !run.descriptors.isAwaited { sched_yield() }
        lane.restIfAwaited()
      } else {
        taken.pass()
        run.descriptors.withDescriptors(2) {}
      }
    }
    #expect(!run.descriptors.isAwaited)
  }

  @Test func closesTheFolderWithItsTokens() throws {
    let fixture = try TreeFixture()
    try fixture.file("a", "content")
    let lane = Lane(run: RunContext())
    let record = try fixture.record("a")
    lane.hold(descriptors: 2, memory: 1)
    _ = try lane.reader.read(record, restart: { () throws(BatchError) in }, consume: { _ in })
    #expect(fixture.openDescriptors == 1)
    lane.rest()
    #expect(fixture.openDescriptors == 0)
  }
}
