import Dispatch
import Foundation
import Synchronization
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct LanePoolTests {
  /// Tells when it is freed.
  private final class Tool {
    let freed: Gate
    init(freed: Gate) { self.freed = freed }
    deinit { freed.open() }
  }

  private final class Owner: Sendable {}

  /// Runs one body on a lane and waits for its completion.
  private static func runOnce(_ lanes: LanePool, _ body: @escaping @Sendable (Workbench) -> Void) {
    let done = Gate()
    lanes.run(body, completion: { done.open() })
    done.pass()
  }

  @Test func runsSixtyFourBodiesAtOnce() async throws {
    let lanes = LanePool(calls: LinuxCalls())
    try await onThread {
      // Each body waits for all others: the test ends only if all of them run at the same time.
      let everybody = Rendezvous(64)
      let group = DispatchGroup()
      for _ in 0..<64 {
        group.enter()
        lanes.run({ _ in everybody.arrive() }, completion: { group.leave() })
      }
      group.wait()
    }
    #expect(lanes.count == 64)
  }

  @Test(arguments: [1, 2, 5]) func runsNoMoreAtOnceThanItsLimit(limit: Int) async throws {
    let lanes = LanePool(limit: limit, calls: LinuxCalls())
    let crowd = Crowd()
    let everybody = Rendezvous(limit)
    try await onThread {
      let group = DispatchGroup()
      for _ in 0..<200 {
        group.enter()
        lanes.run(
          { _ in
            crowd.enter()
            everybody.arrive()
            crowd.leave()
          }, completion: { group.leave() })
      }
      group.wait()
    }
    #expect(crowd.most == limit)
    #expect(lanes.count == limit)
  }

  @Test func beginsWhatStandsByWhenItsLimitRises() async throws {
    let lanes = LanePool(limit: 1, calls: LinuxCalls())
    try await onThread {
      let everybody = Rendezvous(4)
      let group = DispatchGroup()
      for _ in 0..<4 {
        group.enter()
        lanes.run({ _ in everybody.arrive() }, completion: { group.leave() })
      }
      lanes.limit = 4
      group.wait()
    }
    #expect(lanes.count == 4)
  }

  @Test func runsEverythingWhenItsLimitFalls() async throws {
    let lanes = LanePool(limit: 4, calls: LinuxCalls())
    let crowd = Crowd()
    try await onThread {
      let everybody = Rendezvous(5)
      let lowered = Gate()
      let group = DispatchGroup()
      for number in 0..<50 {
        group.enter()
        lanes.run(
          { _ in
            if number < 4 {
              everybody.arrive()
              lowered.pass()
            } else {
              crowd.enter()
              crowd.leave()
            }
          }, completion: { group.leave() })
      }
      everybody.arrive()
      lanes.limit = 0
      #expect(lanes.limit == 1)
      lowered.open()
      group.wait()
    }
    #expect(crowd.most == 1)
  }

  @Test func usesALaneAgain() async throws {
    let lanes = LanePool(calls: LinuxCalls())
    try await onThread {
      for _ in 0..<20 { Self.runOnce(lanes) { _ in } }
    }
    #expect(lanes.count == 1)
  }

  @Test func givesEachLaneABenchOfItsOwn() async throws {
    let lanes = LanePool(calls: LinuxCalls())
    let benches = Recorder<ObjectIdentifier>()
    try await onThread {
      let everybody = Rendezvous(8)
      let group = DispatchGroup()
      for _ in 0..<8 {
        group.enter()
        lanes.run(
          { bench in
            benches.record(ObjectIdentifier(bench))
            everybody.arrive()
          }, completion: { group.leave() })
      }
      group.wait()
    }
    #expect(Set(benches.values).count == 8)
  }

  @Test func givesTheSameBenchToTheNextBodyOfALane() async throws {
    let lanes = LanePool(calls: LinuxCalls())
    let benches = Recorder<ObjectIdentifier>()
    try await onThread {
      for _ in 0..<3 { Self.runOnce(lanes) { benches.record(ObjectIdentifier($0)) } }
    }
    #expect(Set(benches.values).count == 1)
  }

  @Test func freesTheBenchWithTheLane() async throws {
    let freed = Gate()
    try await onThread {
      let owner = Owner()
      do {
        let lanes = LanePool(calls: LinuxCalls())
        Self.runOnce(lanes) { _ = $0.tool(owner: owner) { () throws(Never) in Tool(freed: freed) } }
      }
      // The queue's finalizer frees the bench, and with it what a job put there.
      freed.pass()
    }
  }

  @Test func hasNoBenchOutsideOfLanes() {
    #expect(Lane.workbench == nil)
  }

  @Test func namesItsQueues() {
    #expect(Lane(number: 3, calls: LinuxCalls()).queue.label == "batchproc.lane.3")
  }
}
