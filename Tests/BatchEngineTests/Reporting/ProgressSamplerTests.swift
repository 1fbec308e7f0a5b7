import Dispatch
import Synchronization
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct ProgressSamplerTests {
  @Test func additionsAreMergedAndNoneIsLost() {
    let sum = Mutex<UInt>(0)
    let complete = DispatchSemaphore(value: 0)
    let sampler = ProgressSampler(everyMilliseconds: 3_600_000) { added in
      let total = sum.withLock { sum in
        sum += added
        return sum
      }
      if total == 4_000 { complete.signal() }
    }
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<1_000 { sampler.add(1) }
    }
    complete.wait()
    sampler.stop()
    #expect(sum.withLock { $0 } == 4_000)
  }

  @Test func theTimerCallsWithoutAnAddition() {
    let called = DispatchSemaphore(value: 0)
    let sampler = ProgressSampler(everyMilliseconds: 1) { added in
      if added == 0 { called.signal() }
    }
    called.wait()
    called.wait()
    sampler.stop()
  }

  @Test func nothingIsCalledAfterTheStop() {
    let calls = Mutex(0)
    let sampler = ProgressSampler(everyMilliseconds: 1) { _ in calls.withLock { $0 += 1 } }
    sampler.stop()
    let before = calls.withLock { $0 }
    sampler.add(5)
    sampler.synchronously {}
    #expect(calls.withLock { $0 } == before)
  }
}
