import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct LanePoolTests {
  /// Opens a gate when it is freed.
  private final class Tool {
    let freed: Gate
    init(freed: Gate) { self.freed = freed }
    deinit { freed.open() }
  }

  /// Runs one body on a lane and waits for its completion.
  private static func runOnce(_ lanes: LanePool, _ body: @escaping @Sendable (Lane) -> Void) {
    let done = Gate()
    lanes.run(body, completion: { done.open() })
    done.pass()
  }

  @Test func runsSixtyFourBodiesAtOnce() async throws {
    let lanes = LanePool()
    try await onThread {
      // Each body waits for all others, so the test ends only if all of them run at the same time.
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
    let lanes = LanePool(ConcurrencyLimit(limit))
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

  @Test func beginsWaitingBodiesWhenItsLimitRises() async throws {
    let concurrency = ConcurrencyLimit(1)
    let lanes = LanePool(concurrency)
    try await onThread {
      let everybody = Rendezvous(4)
      let group = DispatchGroup()
      for _ in 0..<4 {
        group.enter()
        lanes.run({ _ in everybody.arrive() }, completion: { group.leave() })
      }
      concurrency.set(4)
      lanes.startWaiting()
      group.wait()
    }
    #expect(lanes.count == 4)
  }

  @Test func runsEverythingWhenItsLimitFalls() async throws {
    let concurrency = ConcurrencyLimit(4)
    let lanes = LanePool(concurrency)
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
      concurrency.set(0)
      #expect(concurrency.current == 1)
      lowered.open()
      group.wait()
    }
    #expect(crowd.most == 1)
  }

  @Test func holdsWaitingBodiesWhileSuspended() async throws {
    let concurrency = ConcurrencyLimit(2)
    let lanes = LanePool(concurrency)
    let ran = Recorder<Int>()
    try await onThread {
      let first = Gate()
      let held = Gate()
      let group = DispatchGroup()
      for number in 0..<3 {
        group.enter()
        lanes.run(
          { _ in
            ran.record(number)
            if number == 0 { first.open() }
            if number < 2 { held.pass() }
          }, completion: { group.leave() })
      }
      first.pass()
      concurrency.setSuspended(true)
      held.open()
      // The first two bodies end; the third one already waited before the suspension.
      while lanes.busy > 0 { sched_yield() }
      #expect(lanes.standingBy == 1)
      #expect(!ran.values.contains(2))
      concurrency.setSuspended(false)
      lanes.startWaiting()
      group.wait()
    }
    #expect(ran.values.last == 2)
  }

  @Test func givesALaneToLargeChunksFirst() async throws {
    let lanes = LanePool(ConcurrencyLimit(1))
    let ran = Recorder<Int>()
    try await onThread {
      let all = Gate()
      let group = DispatchGroup()
      for number in 0..<6 {
        group.enter()
        ChunkOperation(
          itemCount: 1, isLarge: number > 3, lanes: lanes, finished: { group.leave() }
        ) { _ in
          if number == 0 { all.pass() }
          ran.record(number)
        }.start()
      }
      all.open()
      group.wait()
    }
    #expect(ran.values == [0, 4, 5, 1, 2, 3])
  }

  @Test func keepsAFolderOpenOnlyWhileItHoldsTokens() async throws {
    let fixture = try TreeFixture()
    for number in 0..<3 { try fixture.file(PathBytes("f\(number)"), "content") }
    let run = RunContext()
    let lanes = LanePool(concurrency: run.concurrency, cancellation: run.cancellation) { Lane(run: run) }
    let record = try fixture.record("f0")
    try await onThread {
      let open = Mutex(0)
      Self.runOnce(lanes) { lane in
        lane.hold(descriptors: 2, memory: 1)
        _ = try? lane.reader.read(record, restart: { () throws(BatchError) in }, consume: { _ in })
        open.withLock { $0 = fixture.openDescriptors }
      }
      #expect(open.withLock { $0 } == 1)
      #expect(fixture.openDescriptors == 0)
    }
  }

  @Test func usesALaneAgain() async throws {
    let lanes = LanePool()
    try await onThread {
      for _ in 0..<20 { Self.runOnce(lanes) { _ in } }
    }
    #expect(lanes.count == 1)
  }

  @Test func runsBodiesAtOnceOnLanesOfTheirOwn() async throws {
    let lanes = LanePool()
    let used = Recorder<ObjectIdentifier>()
    try await onThread {
      let everybody = Rendezvous(8)
      let group = DispatchGroup()
      for _ in 0..<8 {
        group.enter()
        lanes.run(
          { lane in
            used.record(ObjectIdentifier(lane))
            everybody.arrive()
          }, completion: { group.leave() })
      }
      group.wait()
    }
    #expect(Set(used.values).count == 8)
  }

  @Test func runsTheNextBodyOnTheSameLane() async throws {
    let lanes = LanePool()
    let used = Recorder<ObjectIdentifier>()
    try await onThread {
      for _ in 0..<3 { Self.runOnce(lanes) { used.record(ObjectIdentifier($0)) } }
    }
    #expect(Set(used.values).count == 1)
  }

  @Test func freesTheLaneWithItsQueue() async throws {
    let freed = Gate()
    try await onThread {
      do {
        let lanes = LanePool()
        Self.runOnce(lanes) { $0.worker = Tool(freed: freed) }
      }
      // The queue's finalizer frees the lane, and with it the tool that the job stored in it.
      freed.pass()
    }
  }

  @Test func hasNoLaneOutsideOfQueues() {
    #expect(Lane.current == nil)
  }

  @Test func namesItsQueues() {
    #expect(Lane().makeQueue(number: 3).label == "batchproc.lane.3")
  }
}
