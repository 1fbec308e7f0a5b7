import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct MemoryGovernorTests {
  private struct ChangeRecorder: RunObserver {
    let changes: Recorder<ConcurrencyChange>

    func met(_ problem: Problem, severity: Severity) {}
    func changed(_ change: ConcurrencyChange) { changes.record(change) }
  }

  private static func run(
    _ changes: Recorder<ConcurrencyChange> = Recorder(), planned: UInt64? = 4 << 30
  ) -> RunContext {
    var options = BatchOptions()
    options.concurrency = 8
    options.memoryLimit = planned
    return RunContext(options: options, observer: ChangeRecorder(changes: changes))
  }

  /// The numbers of operations after these readings, one after the other.
  private func numbers(_ readings: [MemoryShortage], planned: UInt64? = 4 << 30) -> [Int] {
    let changes = Recorder<ConcurrencyChange>()
    let run = Self.run(changes, planned: planned)
    let rest = Mutex(readings)
    let governor = MemoryGovernor(run) {
      rest.withLock { $0.isEmpty ? MemoryShortage(stalled: nil, limit: nil) : $0.removeFirst() }
    }
    var numbers = [Int]()
    for _ in readings {
      governor.sample()
      numbers.append(run.concurrency.current)
    }
    let steps = ([8] + numbers).reduce(into: [Int]()) { if $0.last != $1 { $0.append($1) } }
    #expect(changes.values.map(\.new) == Array(steps.dropFirst()), "the observer receives the same steps")
    #expect(changes.values.allSatisfy { $0.reason == .memory })
    governor.stop()
    #expect(run.concurrency.current == 8 && run.concurrency.memoryHalvings == 0)
    return numbers
  }

  private func stalls(_ percents: Double?...) -> [MemoryShortage] {
    percents.map { MemoryShortage(stalled: $0, limit: nil) }
  }

  @Test func halvesWhileThreadsWaitForMemoryAndRecoversInTheSameSteps() {
    #expect(numbers(stalls(0, 50, 50, 5, 5, 0.5, 20, 0, 0, 0)) == [8, 4, 2, 2, 2, 4, 2, 4, 8, 8])
    #expect(numbers(stalls(90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 0, 0)).suffix(3) == [1, 1, 1])
  }

  @Test func doesNothingWhereTheKernelReportsNothing() {
    #expect(numbers(stalls(nil, nil, nil)) == [8, 8, 8])
  }

  @Test("A lower limit of the control group takes effect at once, and a higher one in steps")
  func limits() {
    let limits: [UInt64] = [4 << 30, 1 << 30, 1 << 30, 2 << 30, 4 << 30, 8 << 30]
    #expect(numbers(limits.map { MemoryShortage(stalled: 0, limit: $0) }) == [8, 2, 2, 4, 8, 8])
    #expect(
      numbers([MemoryShortage(stalled: 0, limit: 7 << 29), MemoryShortage(stalled: 0, limit: 3 << 30)]) == [
        8, 4,
      ])
    // At most so many steps are taken.
    #expect(
      numbers([MemoryShortage(stalled: nil, limit: UInt64.max), MemoryShortage(stalled: nil, limit: 0)]) == [
        8, 1,
      ])
  }

  @Test("Memory that the user gave is not lowered by a limit, but it is while threads wait")
  func givenMemory() {
    #expect(numbers([MemoryShortage(stalled: 0, limit: 1 << 20)], planned: nil) == [8])
    #expect(numbers([MemoryShortage(stalled: 30, limit: 1 << 20)], planned: nil) == [4])
  }

  @Test func aRunWhoseMemoryIsShortStaysHalvedWithHighLoad() {
    let run = Self.run()
    run.concurrency.setHalvings(1, by: .load)
    run.concurrency.setHalvings(1, by: .memory)
    #expect(run.concurrency.current == 2)
    run.concurrency.setHalvings(0, by: .load)
    #expect(run.concurrency.current == 4)
    #expect(run.concurrency.isHeld, "the number is not adapted meanwhile")
  }

  @Test("A run stays halved when a run with the same limit ends")
  func sharedLimit() {
    let run = Self.run()
    let outer = MemoryGovernor(run) { MemoryShortage(stalled: 5, limit: 2 << 30) }
    outer.sample()
    #expect(run.concurrency.current == 4)
    MemoryGovernor(run) { MemoryShortage(stalled: nil, limit: nil) }.stop()
    outer.sample()
    #expect(run.concurrency.current == 4)
  }

  @Test("The pressure of the own control group is read, else that of the machine")
  func readings() throws {
    let fixture = try TreeFixture()
    func shortage() -> MemoryShortage {
      MemoryShortage.current(proc: fixture.path("proc"), controlGroups: fixture.path("cgroup"))
    }
    #expect(shortage().stalled == nil)
    try fixture.file(
      "proc/pressure/memory", "some avg10=9.00 avg60=0.00 total=1\nfull avg10=3.50 avg60=0.00 total=1\n")
    #expect(shortage().stalled == 3.5)
    try fixture.file("proc/self/cgroup", "0::/outer/inner\n")
    try fixture.file("cgroup/outer/memory.pressure", "some avg10=1.00\nfull avg10=71.25 avg60=0.00\n")
    try fixture.file("cgroup/outer/inner/memory.max", "1048576\n")
    #expect(shortage() == MemoryShortage(stalled: 71.25, limit: 1 << 20))
    try fixture.file("cgroup/outer/inner/memory.pressure", "some avg10=8.00\nfull avg10=nan\n")
    #expect(shortage().stalled == 3.5, "a text that is not a number counts as missing")
  }
}
