import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

/// When the adapter changes the number of operations of a run. The test sets the time and the number of
/// processors.
@Suite struct ConcurrencyAdapterTests {
  private struct ChangeRecorder: RunObserver {
    let changes: Recorder<ConcurrencyChange>

    func met(_ problem: Problem, severity: Severity) {}
    func changed(_ change: ConcurrencyChange) { changes.record(change) }
  }

  private final class Machine: Sendable {
    let time = Mutex(Duration.zero)
    let processors = Mutex(8.0)
  }

  /// A run in which `count` operations are always in progress.
  private struct Fixture {
    let machine = Machine()
    let changes = Recorder<ConcurrencyChange>()
    let run: RunContext
    let adapter: ConcurrencyAdapter
    /// The rate of the device with a number of operations, in MiB per 10 ms.
    let rate: (Int) -> Int

    init(_ concurrency: Int, rate: @escaping (Int) -> Int) throws {
      self.rate = rate
      var options = BatchOptions()
      options.concurrency = concurrency
      options.mostConcurrency = 64
      options.processors = 8
      options.descriptors = 1000
      run = RunContext(options: options, observer: ChangeRecorder(changes: changes))
      var meters = ConcurrencyAdapter.Meters()
      let machine = machine
      meters.time = { machine.time.withLock { $0 } }
      meters.computed = { .zero }
      meters.blocked = { [concurrency = run.concurrency] in concurrency.runningCount }
      meters.processors = { machine.processors.withLock { $0 } }
      adapter = try #require(ConcurrencyAdapter(run, meters: meters))
    }

    /// - Parameter items: how many items the operations begin in 10 ms, for their number.
    func pass(seconds: Int, items: (Int) -> Int = { _ in 0 }) {
      let lane = run.filesInProgress.addLane()
      for _ in 0..<(100 * seconds) {
        let concurrency = run.concurrency
        machine.time.withLock { $0 += .milliseconds(10) }
        concurrency.note(running: concurrency.isSuspended ? 0 : concurrency.current)
        if !concurrency.isSuspended {
          run.counters.addBytes(rate(concurrency.current) << 20)
          for index in 0..<items(concurrency.current) { lane.advance(to: index) }
        }
        adapter.look()
      }
    }
  }

  enum Hold: CaseIterable {
    case fixed, halved, suspended

    func apply(_ isHeld: Bool, to concurrency: ConcurrencyLimit) {
      switch self {
      case .fixed: concurrency.fix(isHeld ? concurrency.wanted : nil)
      case .halved: concurrency.setHalvings(isHeld ? 1 : 0, by: .load)
      case .suspended: concurrency.setSuspended(isHeld)
      }
    }
  }

  @Test("The number does not change while it is held, and changes again afterwards", arguments: Hold.allCases)
  func held(_ hold: Hold) throws {
    let fixture = try Fixture(4) { 4 * $0 }
    let concurrency = fixture.run.concurrency
    fixture.adapter.look()
    hold.apply(true, to: concurrency)
    fixture.pass(seconds: 30)
    #expect(concurrency.wanted == 4)
    #expect(fixture.changes.count == 0)
    hold.apply(false, to: concurrency)
    fixture.pass(seconds: 30)
    #expect(concurrency.current > 32, "the device is the faster the more operations there are")
  }

  @Test("When the number of processors changes, the adapter starts again from the initial number for them")
  func processors() throws {
    let fixture = try Fixture(8) { _ in 32 }
    fixture.pass(seconds: 9)
    fixture.machine.processors.withLock { $0 = 1.5 }
    #expect(!fixture.changes.values.contains { $0.reason == .processors }, "looked at every 10 s")
    fixture.pass(seconds: 2)
    #expect(fixture.changes.values.last { $0.reason == .processors }?.new == 2)
    fixture.machine.processors.withLock { $0 = 8 }
    fixture.pass(seconds: 10)
    #expect(fixture.changes.values.last { $0.reason == .processors }?.new == 8)
    fixture.pass(seconds: 30)
    #expect(fixture.changes.values.count { $0.reason == .processors } == 2)
  }

  @Test(
    "A run that is held adapts to a new number of processors when it is released", arguments: Hold.allCases)
  func processorsOfAHeldRun(_ hold: Hold) throws {
    let fixture = try Fixture(8) { _ in 32 }
    fixture.machine.time.withLock { $0 = .seconds(1) }
    fixture.adapter.look()
    hold.apply(true, to: fixture.run.concurrency)
    fixture.machine.processors.withLock { $0 = 2 }
    fixture.pass(seconds: 30)
    #expect(fixture.run.concurrency.wanted == 8)
    hold.apply(false, to: fixture.run.concurrency)
    fixture.adapter.look()
    #expect(fixture.run.concurrency.wanted == 2)
    #expect(fixture.changes.values.map(\.reason) == [.processors])
  }

  @Test("A file counts when an operation begins it, long before its result is collected")
  func uncollectedFiles() throws {
    let fixture = try Fixture(2) { _ in 0 }
    fixture.pass(seconds: 30) { 64 / $0 }
    #expect(fixture.run.concurrency.current == 1, "the device is slower with each operation more")
    #expect(fixture.run.counters.snapshot.done == 0)
  }

  @Test func aFixedNumberHasNoAdapter() {
    #expect(ConcurrencyAdapter(RunContext(options: BatchOptions())) == nil)
  }
}
