import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

/// When the number of operations of a run is moved, and when not. The time and the processors are those of the test.
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

  /// A run of so many operations, all of which go on all the time.
  private struct Fixture {
    let machine = Machine()
    let changes = Recorder<ConcurrencyChange>()
    let run: RunContext
    let adapter: ConcurrencyAdapter
    /// MiB in 10 ms, as the device gives them to so many operations.
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

    func pass(seconds: Int) {
      for _ in 0..<(100 * seconds) {
        let concurrency = run.concurrency
        machine.time.withLock { $0 += .milliseconds(10) }
        concurrency.note(running: concurrency.isSuspended ? 0 : concurrency.current)
        if !concurrency.isSuspended { run.counters.addBytes(rate(concurrency.current) << 20) }
        adapter.look()
      }
    }
  }

  enum Hold: CaseIterable {
    case fixed, halved, suspended

    func apply(_ isHeld: Bool, to concurrency: ConcurrencyLimit) {
      switch self {
      case .fixed: concurrency.fix(isHeld ? concurrency.wanted : nil)
      case .halved: concurrency.setHalved(isHeld)
      case .suspended: concurrency.setSuspended(isHeld)
      }
    }
  }

  @Test("Nothing is moved while the number is held, and afterwards it goes on", arguments: Hold.allCases)
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

  @Test("More or fewer processors, and the number begins again where a run would begin that starts now")
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

  @Test("A run that is held follows the processors when it is let go on", arguments: Hold.allCases)
  func processorsOfAHeldRun(_ hold: Hold) throws {
    let fixture = try Fixture(8) { _ in 32 }
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

  @Test func aRunWhoseNumberStaysHasNone() {
    #expect(ConcurrencyAdapter(RunContext(options: BatchOptions())) == nil)
  }
}
