import TestSupport
import Testing

@testable import BatchEngine

@Suite("Rows and problems that a source yields", .timeLimit(.minutes(1)))
struct YieldedTests {
  private enum Step: MeasuredItem {
    case item(Int)
    case row(Int)
    case problem(Int)

    var measure: ItemMeasure { ItemMeasure(weight: 0) }

    var yielded: Yielded<Numbered, Numbered> {
      switch self {
      case .item(let number): .item(Numbered(number))
      case .row(let number): .row(Numbered(number))
      case .problem(let number): .problem(Problem(BatchError(.unreadable, "\(number)")))
      }
    }
  }

  private struct Numbered: MeasuredItem {
    let number: Int

    init(_ number: Int) { self.number = number }

    var measure: ItemMeasure { ItemMeasure(weight: 0) }
  }

  private struct Source: BatchSource {
    var rest: ArraySlice<Step>

    mutating func next() -> Yielded<Numbered, Numbered>? { rest.popFirst()?.yielded }

    func weight(of item: Numbered) -> Int64 { 0 }
    func count(ofRow row: Numbered) -> Int { 2 }
  }

  private struct Reader: BatchReader {
    let steps: [Step]

    func read(in context: ReaderContext<Numbered, Numbered>) throws(BatchError) {
      for step in steps { try context.yield(step.yielded) }
    }
  }

  /// Records numbers in the order of the results. The worker keeps the results of two items back, like one that computes two
  /// digests at once.
  private struct Job: BatchJob, RunObserver {
    let order = Recorder<Int>()

    func makeWorker(in context: WorkerContext, sharing: Void) -> Worker { Worker() }
    func makeCollector(in context: CollectorContext, sharing: Void) -> sending RowCollector<[Int]> {
      RowCollector { [order] rows in for row in rows { order.record(row) } }
    }

    func add(_ row: Numbered, in context: WorkerContext, to rows: inout [Int]) {
      rows.append(row.number)
      context.finish()
    }

    func met(_ problem: Problem, severity: Severity) { order.record(Int(problem.error.message) ?? -1) }

    final class Worker: BatchWorker {
      private var kept: [Int] = []

      func process(_ item: Numbered, in context: WorkerContext, into rows: inout [Int]) {
        kept.append(item.number)
        context.finish()
        if kept.count > 2 { settle(in: context, into: &rows) }
      }

      func settle(in context: WorkerContext, into rows: inout [Int]) {
        rows += kept
        kept.removeAll()
      }

      func end(in context: WorkerContext, into rows: inout [Int]) { settle(in: context, into: &rows) }
    }
  }

  /// The kinds vary, so that chunks begin and end with each of them, and some have no item.
  private static let steps = (0..<500).map { number -> Step in
    switch (number * number / 7) % 5 {
    case 0, 1: .item(number)
    case 2, 3: .row(number)
    default: number / 50 % 3 == 1 ? .row(number) : .problem(number)
    }
  }

  @Test(
    "have their place among the results of the workers", arguments: ReaderFeedTests.ways, [1, 3, 7, 1000])
  func places(way: (Int, Bool), stride: Int) async throws {
    for isRead in [false, true] {
      let job = Job()
      var options = BatchOptions()
      (options.concurrency, options.runsOnCaller) = way
      options.stride = .fixed(stride)
      let run = RunContext(options: options, observer: job)
      let outcome = try await onThread {
        isRead
          ? BatchRunner(run).run(job, reading: Reader(steps: Self.steps))
          : BatchRunner(run).run(job, over: Source(rest: Self.steps[...]))
      }
      let rows = Self.steps.count { if case .row = $0 { true } else { false } }
      let problems = Self.steps.count { if case .problem = $0 { true } else { false } }
      #expect(job.order.values == Array(0..<500) && outcome.stopped == nil)
      #expect(outcome.counts.seen == 500 + (isRead ? 0 : rows))
      #expect(outcome.counts.done == 500 - problems && outcome.counts.failed == problems)
    }
  }
}
