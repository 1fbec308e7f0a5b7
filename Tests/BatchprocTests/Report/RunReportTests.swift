import BatchCore
import BatchEngine
import Glibc
import Synchronization
import Testing

@testable import batchproc

/// The facts that are gathered about a run, and the page that shows them.
@Suite struct RunReportTests {
  private let invocation = Invocation(command: "hash", options: [], operands: ["<t>"])

  /// A clock that advances by one second at each reading.
  private static func clock() -> Stopwatch {
    let start = ContinuousClock.now
    let count = Mutex(0)
    return Stopwatch {
      start
        + .seconds(
          count.withLock {
            $0 += 1; return $0
          })
    }
  }

  private func page(_ recorder: RunRecorder, _ run: RunContext, _ ending: Ending = .exit(.success)) throws
    -> String
  {
    String(decoding: try RunPage(facts: recorder.finish(ending, run, nil)).html(), as: UTF8.self)
  }

  @Test func samplesAreBoundedAndKeepTheWholeRun() throws {
    let recorder = RunRecorder(invocation, stopwatch: Self.clock())
    let run = RunContext()
    recorder.follow(run)
    for _ in 0..<10_000 {
      run.counters.addBytes(1000)
      run.counters.addDone()
      recorder.sample()
    }
    let samples = recorder.finish(.exit(.success), run, nil).samples
    #expect(samples.count <= RunRecorder.mostSamples)
    #expect(samples.first?.files == 1 && samples.last?.files == 10_000)
    #expect(zip(samples, samples.dropFirst()).allSatisfy { $0.time < $1.time && $0.bytes <= $1.bytes })
    let charts = RunCharts(samples).charts
    #expect(charts.count == 3)
    for chart in charts {
      #expect(chart.series.allSatisfy { (2...RunCharts.mostIntervals + 1).contains($0.values.count) })
    }
    // One file of 1,000 bytes each second, except in the last interval.
    #expect(charts[0].series[0].values.dropLast().compactMap { $0 }.allSatisfy { abs($0 - 1000) < 1 })
    #expect(charts[1].description == "Files a second over 2h46m: 1 on average, 1 at most.")
  }

  @Test func partsOfARunAddUp() {
    let recorder = RunRecorder(invocation, stopwatch: Self.clock())
    for _ in 0..<3 {
      let part = RunContext()
      recorder.follow(part)
      part.counters.addBytes(10)
      part.counters.addDone()
    }
    let samples = recorder.finish(.exit(.success), RunContext(), nil).samples
    #expect(samples.last?.files == 3 && samples.last?.bytes == 30)
  }

  @Test func remarksAreLimitedAndAllAreCounted() throws {
    let recorder = RunRecorder(invocation)
    for number in 0..<5000 {
      let error = BatchError.syscall(
        "open", errno: number.isMultiple(of: 10) ? EIO : EACCES, path: PathBytes("f\(number)"))
      recorder.met(Problem(.unreadable, error), severity: number < 4000 ? .failure : .warning)
      recorder.met(Problem(.special, error), severity: .note)
    }
    for number in 0..<100 { recorder.found("x", "reason \(number)") }
    let run = RunContext()
    let facts = recorder.finish(.exit(.someFailed), run, nil)
    #expect(facts.failures.count == 4000 && facts.failures.first.count == RunFacts.Remarks.most)
    #expect(facts.failures.reasons.map(\.count) == [400, 3600])
    #expect(facts.warnings.count == 1000)
    #expect(facts.findings.reasons.count == RunFacts.Remarks.mostReasons && facts.findings.otherCount == 60)
    let page = String(decoding: try RunPage(facts: facts).html(), as: UTF8.self)
    #expect(page.contains("The first 200 of 4,000 names"))
    #expect(page.contains("<td>other reasons</td><td class=\"number\">60</td>"))
    #expect(page.utf8.count < 200_000)
  }

  @Test func changesOfTheConcurrencyAreNamedWithTheirReasons() throws {
    let recorder = RunRecorder(invocation, stopwatch: Self.clock())
    for number in 0..<150 {
      recorder.changed(
        ConcurrencyChange(
          from: number, to: number + 1, number == 0 ? .control : .waiting, bytesPerSecond: 3_145_728))
    }
    let page = try page(recorder, RunContext())
    #expect(page.contains("The first 100 of 150 changes"))
    #expect(page.contains("paused</td><td class=\"number\">1</td><td>the control file says so"))
    #expect(page.contains("operations wait for the device</td><td class=\"number\">3.0 MiB/s"))
  }

  @Test func theReasonOfTheEndComesFirst() throws {
    let recorder = RunRecorder(invocation)
    let error = BatchError.syscall("write", errno: ENOSPC, path: "<out>")
    recorder.fatal(error)
    recorder.fatal(error)
    let page = try page(recorder, RunContext(), .exit(.outputIncomplete))
    #expect(page.contains("An output is incomplete"))
    #expect(page.matches(of: /&lt;out&gt;<\/bdi>: cannot write: No space left on device/).count == 1)
    for ending in [Ending.signal(SIGINT), .exit(.fatal), .exit(.budgetReached)] {
      #expect(
        try self.page(RunRecorder(invocation), RunContext(), ending).contains("Exit status \(ending.status).")
      )
    }
  }

  @Test func sizesAndRatioComeFromTheSummary() throws {
    let recorder = RunRecorder(invocation)
    var counts = Counters.Snapshot()
    (counts.seen, counts.done, counts.failed) = (5000, 4999, 1)
    counts.reasons = [.special(.fifo): 2, .filtered: 7]
    counts.skipped = 9
    recorder.summary(
      RunSummary(counts: counts, stopped: nil, elapsed: .seconds(1)),
      text: SummaryText(
        verb: "packed", files: 4999, bytes: 1 << 20, output: 1 << 18,
        others: [(3, "verified"), (1, "failed")]))
    let page = try page(recorder, RunContext())
    for text in [
      "1.0 MiB", "256.0 KiB", "25.0 % of the input", "4,999", "of 5,000 seen", "<dt>Verified</dt>",
    ] {
      #expect(page.contains(text), "\(text)")
    }
    #expect(page.contains("<td>FIFOs</td><td class=\"number\">2</td>"))
    #expect(page.contains("<td>filtered</td><td class=\"number\">7</td>"))
    #expect(!page.contains("<svg"))
  }

  @Test func optionsAreTheGivenOnesWithoutSecrets() throws {
    let line = try parsed(
      "backup", "--to", PathBytes([0x64, 0xff]), "--before", "mysql -psecret", "--no-verify", "--rate", "2M",
      "--on", "changed=retry:3", "--keep-within", "1y2d", "-q", "src")
    let shown = Invocation(line)
    #expect(shown.command == "backup" && shown.operands == ["src"])
    #expect(
      shown.options == [
        .init(name: "--to", value: PathBytes([0x64, 0xff])), .init(name: "--before", value: "(not shown)"),
        .init(name: "--no-verify", value: nil), .init(name: "--rate", value: "2.0 MiB"),
        .init(name: "--on", value: "changed=retry:3"), .init(name: "--keep-within", value: "1y0m2d0h"),
        .init(name: "--quiet", value: nil),
      ])
  }

  @Test func theWorseOfTwoEndingsCounts() {
    for status in [ExitStatus.success, .differences, .someFailed, .budgetReached, .outputIncomplete] {
      #expect(!Ending.exit(status).isWorse(than: .outputIncomplete))
    }
    for status in [ExitStatus.fatal, .locked, .usage] {
      #expect(Ending.exit(status).isWorse(than: .outputIncomplete))
    }
    #expect(Ending.signal(SIGINT).isWorse(than: .outputIncomplete))
  }
}
