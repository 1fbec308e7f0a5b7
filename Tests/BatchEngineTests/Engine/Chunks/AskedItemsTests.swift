import TestSupport
import Testing

@testable import BatchEngine

@Suite("Items that a collector asks for", .timeLimit(.minutes(1)))
struct AskedItemsTests {
  /// A source of numbers, to which a collector can add requested ones.
  private struct Numbers: BatchSource {
    let asked: AskedItems<Int>? = AskedItems()
    let calls = Recorder<Int>()
    var left: [Int]

    mutating func next() -> Yielded<Int, Never>? {
      calls.record(left.count)
      return left.popLast().map { .item($0) }
    }

    /// The greatest weight, so that each number is a separate chunk.
    func weight(of item: Int) -> Int64 { .max }
  }

  /// Counts each number down to 0: the collector requests the next lower number.
  private struct CountDown: BatchJob {
    let asked: AskedItems<Int>?
    /// The first number that the source has. If it is given, the collector reports that the memory is full
    /// until all numbers that it requested have arrived.
    var first: Int?

    func makeWorker(in context: WorkerContext, sharing: Void) -> Worker { Worker() }

    func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector {
      Collector(asked, context, first)
    }

    final class Worker: BatchWorker {
      func process(_ item: Int, in context: WorkerContext, into rows: inout [Int]) throws(BatchError) {
        context.finish()
        rows.append(item)
      }
    }

    final class Collector: BatchCollector {
      private let asked: AskedItems<Int>?
      private let context: CollectorContext
      private let first: Int?
      private var rows: [Int] = []
      private var open = 0

      init(_ asked: AskedItems<Int>?, _ context: CollectorContext, _ first: Int?) {
        self.asked = asked
        self.context = context
        self.first = first
      }

      func collect(_ rows: [Int]) {
        self.rows += rows
        for row in rows where row > 0 {
          open += 1
          asked?.ask(row - 1)
        }
        guard let first else { return }
        open -= rows.count { $0 != first }
        context.note(kept: open > 0 ? 1 << 20 : 0)
      }

      func finish() -> [Int] { rows.sorted() }
    }
  }

  @Test("are taken before those of the source and also after its end, and the end is asked for once")
  func feed() throws {
    let source = Numbers(left: [1, 2])
    let feed = ChunkFeed(source: source, stride: .automatic)
    #expect(try feed.next()?.chunk.items == [2])
    source.asked?.ask(7)
    #expect(feed.hasAsked)
    #expect(try feed.next()?.chunk.items == [7])
    #expect(try feed.next()?.chunk.items == [1])
    #expect(try feed.next()?.chunk.items == nil)
    #expect(try feed.next()?.chunk.items == nil)
    source.asked?.ask(8)
    #expect(try feed.next()?.chunk.items == [8])
    #expect(!feed.hasAsked)
    #expect(source.calls.values == [2, 1, 0])
  }

  @Test("are all processed, also those after the end of the source", arguments: [1, 2, 7, 32], [0, 1, 40])
  func run(concurrency: Int, count: Int) throws {
    var options = BatchOptions()
    options.concurrency = concurrency
    options.runsOnCaller = concurrency == 1
    let source = Numbers(left: Array(repeating: 5, count: count))
    let outcome = BatchRunner(RunContext(options: options)).run(CountDown(asked: source.asked), over: source)
    #expect(outcome.result == (0...5).flatMap { Array(repeating: $0, count: count) })
    #expect(outcome.summary.stopped == nil && outcome.summary.counts.done == count * 6)
  }

  @Test("are admitted when there is no room for other items", arguments: [2, 7])
  func withoutRoom(concurrency: Int) throws {
    var options = BatchOptions()
    options.concurrency = concurrency
    let source = Numbers(left: Array(repeating: 9, count: 200))
    let outcome = BatchRunner(RunContext(options: options)).run(
      CountDown(asked: source.asked, first: 9), over: source)
    #expect(outcome.result?.count == 2_000)
  }

  /// The collector requests item 10 when it gets item 1, and item 2 is processed only after 10 was collected.
  private struct Waiting: BatchJob {
    struct Source: BatchSource {
      let asked: AskedItems<Int>? = AskedItems(isOrdered: false)
      var left = [3, 2, 1]

      mutating func next() -> Yielded<Int, Never>? { left.popLast().map { .item($0) } }
      func weight(of item: Int) -> Int64 { .max }
    }

    let asked: AskedItems<Int>?
    let collected = Gate()

    func makeWorker(in context: WorkerContext, sharing: Void) -> FunctionWorker<Int, [Int]> {
      FunctionWorker { (item, context, rows) throws(BatchError) in
        if item == 2 { collected.pass() }
        context.finish()
        rows.append(item)
      }
    }

    func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector { Collector(self) }

    final class Collector: BatchCollector {
      private let job: Waiting
      private var rows: [Int] = []

      init(_ job: Waiting) { self.job = job }

      func collect(_ rows: [Int]) {
        self.rows += rows
        if rows == [1] { job.asked?.ask(10) }
        if rows == [10] { job.collected.open() }
      }

      func finish() -> [Int] { rows }
    }
  }

  @Test("are collected before the results of chunks that began before them, if their order does not matter")
  func unordered() throws {
    var options = BatchOptions()
    options.concurrency = 2
    let source = Waiting.Source()
    let outcome = BatchRunner(RunContext(options: options)).run(Waiting(asked: source.asked), over: source)
    #expect(outcome.result.map { $0.filter { $0 < 10 } } == [1, 2, 3])
    #expect(outcome.result.map { $0.firstIndex(of: 10) ?? 9 < $0.firstIndex(of: 2) ?? 0 } == true)
  }

  /// The collector requests item 10 when it gets item 1, and waits with item 2 until 10 was processed.
  private struct Blocking: BatchJob {
    struct Source: BatchSource {
      let asked: AskedItems<Int>? = AskedItems(isOrdered: false)
      /// Opened by the request; the source looks for its end until then.
      let requested: Gate?
      var left = [2, 1]

      mutating func next() -> Yielded<Int, Never>? {
        if left.isEmpty { requested?.pass() }
        return left.popLast().map { .item($0) }
      }

      func weight(of item: Int) -> Int64 { .max }
    }

    let source: Source
    let processed = Gate()

    func makeWorker(in context: WorkerContext, sharing: Void) -> FunctionWorker<Int, [Int]> {
      FunctionWorker { (item, context, rows) throws(BatchError) in
        if item == 10 { processed.open() }
        context.finish()
        rows.append(item)
      }
    }

    func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector { Collector(self) }

    final class Collector: BatchCollector {
      private let job: Blocking
      private var rows: [Int] = []

      init(_ job: Blocking) { self.job = job }

      func collect(_ rows: [Int]) {
        self.rows += rows
        if rows == [1] {
          job.source.asked?.ask(10)
          job.source.requested?.open()
        }
        if rows == [2] { job.processed.pass() }
      }

      func finish() -> [Int] { rows.sorted() }
    }
  }

  @Test(
    "are admitted while the collector waits for them, whatever the source does and if a checkpoint is due",
    arguments: [1, 2, 7], [nil, 1, 2] as [Int?])
  func awaited(concurrency: Int, chunksPerCheckpoint: Int?) throws {
    for round in 0..<20 {
      var options = BatchOptions()
      options.concurrency = concurrency
      options.chunksPerCheckpoint = chunksPerCheckpoint
      let source = Blocking.Source(requested: round % 2 == 0 ? nil : Gate())
      let outcome = BatchRunner(RunContext(options: options)).run(Blocking(source: source), over: source)
      #expect(outcome.result == [1, 2, 10])
    }
  }

  private final class Load: Sendable {}

  /// When nothing else is in progress, the collector requests numbers one at a time.
  private struct Later: BatchJob {
    let asked: AskedItems<Int>?

    func makeWorker(in context: WorkerContext, sharing: Void) -> CountDown.Worker { CountDown.Worker() }
    func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector { Collector(asked) }

    final class Collector: BatchCollector {
      private let asked: AskedItems<Int>?
      private var rows: [Int] = []
      private var requests: [Int] = []

      init(_ asked: AskedItems<Int>?) { self.asked = asked }

      func collect(_ rows: [Int]) { self.rows += rows }

      func requestMore() -> Bool {
        requests.append(rows.count)
        guard requests.count < 4 else { return false }
        asked?.ask(100 + requests.count)
        return true
      }

      func finish() -> (rows: [Int], requests: [Int]) { (rows, requests) }
    }
  }

  @Test(
    "can be requested when everything before them is collected, until the collector requests no more",
    arguments: [1, 2, 7, 32], [true, false])
  func later(concurrency: Int, runsOnCaller: Bool) throws {
    var options = BatchOptions()
    options.concurrency = concurrency
    options.runsOnCaller = runsOnCaller
    let source = Numbers(left: Array(1...40))
    let outcome = BatchRunner(RunContext(options: options)).run(Later(asked: source.asked), over: source)
    #expect(outcome.result?.rows == (1...40).reversed() + [101, 102, 103])
    #expect(outcome.result?.requests == [40, 41, 42, 43])
  }

  @Test("are taken in the order of the requests, and released when they are taken, while others wait")
  func released() {
    let asked = AskedItems<Load>()
    let third = Load()
    weak var first: Load?
    do {
      let load = Load()
      first = load
      asked.ask([load, Load()])
    }
    #expect(first != nil)
    do {
      let taken = asked.take()
      #expect(taken === first)
    }
    #expect(first == nil)
    asked.ask(third)
    #expect(asked.take() !== third && asked.take() === third)
    #expect(asked.isEmpty && asked.take() == nil)
    asked.ask([Load(), third])
    #expect(asked.take() !== third)
    asked.ask(Load())
    #expect(asked.giveUp().map { $0 === third } == [true, false] && asked.isEmpty)
  }

  @Test("are left unprocessed by a run that is stopped")
  func stopped() throws {
    let cancellation = Cancellation()
    let source = Numbers(left: [1, 1, 1])
    source.asked?.ask(3)
    cancellation.cancel(BatchError(.cancelled, "stop"))
    let outcome = BatchRunner(RunContext(options: BatchOptions(), cancellation: cancellation)).run(
      CountDown(asked: source.asked), over: source)
    #expect(outcome.result == nil && source.asked?.giveUp() == [3])
  }
}
