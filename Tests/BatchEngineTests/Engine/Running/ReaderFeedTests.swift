import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

/// Items that a reader yields while the lanes process earlier ones.
@Suite(.timeLimit(.minutes(3))) struct ReaderFeedTests {
  struct Item: MeasuredItem {
    let number: Int
    var weight: Int64 = 0
    var measure: ItemMeasure { ItemMeasure(weight: weight) }
  }

  /// A reader made of a closure.
  struct ClosureReader: BatchReader {
    let body: @Sendable (ReaderContext<Item, Never>) throws(BatchError) -> Void

    init(_ body: @escaping @Sendable (ReaderContext<Item, Never>) throws(BatchError) -> Void) {
      self.body = body
    }

    func read(in context: ReaderContext<Item, Never>) throws(BatchError) { try body(context) }
  }

  /// Concurrency and whether the run uses the caller's thread, which it can at 1.
  static let ways = [(1, true), (1, false), (2, false), (7, false), (32, false)]

  private func run(
    _ way: (Int, Bool) = (2, false), stride: ChunkStride = .fixed(3),
    cancellation: Cancellation = Cancellation()
  ) -> RunContext {
    var options = BatchOptions()
    (options.concurrency, options.runsOnCaller) = way
    options.stride = stride
    return RunContext(options: options, cancellation: cancellation)
  }

  private func numbers(_ collected: Recorder<[Int]>) -> ClosureJob<Item, [Int]> {
    ClosureJob<Item, [Int]>(
      onProcess: { chunk, _ in chunk.items.map(\.number) }, onCollect: { collected.record($0) })
  }

  @Test("are cut into chunks like those of a source, and collected in order", arguments: Self.ways)
  func order(concurrency: Int, onCaller: Bool) async throws {
    let collected = Recorder<[Int]>()
    let run = run((concurrency, onCaller), stride: ChunkStride(count: 3, byteCount: .max, largeThreshold: 9))
    let job = numbers(collected)
    let outcome = try await onThread {
      BatchRunner(run).run(
        job,
        reading: ClosureReader { (context) throws(BatchError) in
          for number in 0..<1000 {
            try context.yield(.item(Item(number: number, weight: number % 10 == 4 ? 9 : 0)))
          }
        })
    }
    #expect(collected.values.flatMap(\.self) == Array(0..<1000))
    #expect(collected.values.prefix(5) == [[0, 1, 2], [3], [4], [5, 6, 7], [8, 9, 10]])
    #expect(outcome.stopped == nil && outcome.counts.seen == 1000)
  }

  @Test("are delivered by the feed while the reader is busy, and the feed does not wait for the reader")
  func busy() async throws {
    let run = run(stride: .fixed(1))
    let (gate, hasBegun) = (Gate(), Gate())
    let feed = ReaderFeed(
      ClosureReader { (context) throws(BatchError) in
        try context.yield(.item(Item(number: 1)))
        hasBegun.open()
        gate.pass()
        try context.yield(.item(Item(number: 2)))
      }, run)
    let appeared = DispatchSemaphore(value: 0)
    feed.start(beside: LanePool()) { appeared.signal() }
    try await onThread { () throws in
      appeared.wait()
      hasBegun.pass()
      #expect(feed.isReady)
      #expect(try feed.next()?.chunk.items.map(\.number) == [1])
      #expect(!feed.isReady)
      gate.open()
      appeared.wait()
      #expect(try feed.next()?.chunk.items.map(\.number) == [2])
      appeared.wait()
      #expect(feed.isReady)
      #expect(try feed.next() == nil)
      feed.stop()
    }
  }

  @Test("are processed while the reader reads the next one")
  func processed() async throws {
    let isProcessed = Gate()
    let job = ClosureJob<Item, Int>(onProcess: { _, _ in
      isProcessed.open()
      return 0
    })
    let run = run(stride: .fixed(1))
    let outcome = try await onThread {
      BatchRunner(run).run(
        job,
        reading: ClosureReader { (context) throws(BatchError) in
          try context.yield(.item(Item(number: 1)))
          isProcessed.pass()
          try context.yield(.item(Item(number: 2)))
        })
    }
    #expect(outcome.counts.seen == 2 && outcome.stopped == nil)
  }

  @Test("are bounded by the window of the run and one chunk")
  func bounded() async throws {
    let isOut = Mutex((yielded: 0, collected: 0, most: 0))
    let job = ClosureJob<Item, Int>(
      onProcess: { chunk, _ in chunk.items.count },
      onCollect: { count in isOut.withLock { $0.collected += count } })
    let run = run(stride: .fixed(1))
    _ = try await onThread {
      BatchRunner(run).run(
        job,
        reading: ClosureReader { (context) throws(BatchError) in
          for number in 0..<20_000 {
            try context.yield(.item(Item(number: number)))
            isOut.withLock {
              $0.yielded += 1
              $0.most = max($0.most, $0.yielded - $0.collected)
            }
          }
        })
    }
    // Results that wait for a slow chunk are small and do not count as part of the window.
    let counts = isOut.withLock { $0 }
    #expect(counts.most < 20_000 / 2 && counts.collected == 20_000)
  }

  @Test("end at once when the run is cancelled while the reader reads", arguments: Self.ways)
  func cancelled(concurrency: Int, onCaller: Bool) async throws {
    let cancellation = Cancellation()
    let run = run((concurrency, onCaller), cancellation: cancellation)
    let job = numbers(Recorder())
    let hasBegun = Gate()
    let canceller = Thread {
      hasBegun.pass()
      cancellation.cancel(BatchError(.cancelled, "enough"))
    }
    canceller.start()
    let outcome = try await onThread {
      BatchRunner(run).run(
        job,
        reading: ClosureReader { (context) throws(BatchError) in
          try context.yield(.item(Item(number: 1)))
          hasBegun.open()
          while true { try context.checkCancellation() }
        })
    }
    #expect(outcome.stopped?.code == .cancelled && outcome.result == nil)
  }

  @Test("end at once when the run is cancelled while the reader waits for room")
  func cancelledWithoutRoom() async throws {
    let cancellation = Cancellation()
    let run = run((1, false), stride: .fixed(1), cancellation: cancellation)
    let job = ClosureJob<Item, Int>(onProcess: { _, context in
      // No item leaves the window before the run is cancelled.
      while !context.cancellation.isCancelled { sched_yield() }
      return 0
    })
    let outcome = try await onThread {
      BatchRunner(run).run(
        job,
        reading: ClosureReader { (context) throws(BatchError) in
          for number in 0... {
            // The window of 64 is full and one more chunk is ready, so this call waits.
            if number == 65 { Thread { cancellation.cancel(BatchError(.cancelled, "enough")) }.start() }
            try context.yield(.item(Item(number: number)))
          }
        })
    }
    #expect(outcome.stopped?.code == .cancelled)
  }

  @Test("end when the collector accepts no more, without an error", arguments: Self.ways)
  func ended(concurrency: Int, onCaller: Bool) async throws {
    let run = run((concurrency, onCaller))
    let collected = Recorder<[Int]>()
    let job = ClosureJob<Item, [Int]>(
      onProcess: { chunk, _ in chunk.items.map(\.number) },
      onCollect: { items in
        collected.record(items)
        run.end()
      })
    let outcome = try await onThread {
      BatchRunner(run).run(
        job,
        reading: ClosureReader { (context) throws(BatchError) in
          for number in 0..<3 { try context.yield(.item(Item(number: number))) }
          while true { try context.checkCancellation() }
        })
    }
    #expect(outcome.stopped == nil && outcome.result != nil)
    #expect(collected.values == [[0, 1, 2]])
  }

  @Test("end the run with the error of the reader after those that it yielded before", arguments: Self.ways)
  func failure(concurrency: Int, onCaller: Bool) async throws {
    let run = run((concurrency, onCaller))
    let job = numbers(Recorder())
    let error = BatchError(.malformed, "no archive")
    let outcome = try await onThread {
      BatchRunner(run).run(
        job,
        reading: ClosureReader { (context) throws(BatchError) in
          for number in 0..<7 { try context.yield(.item(Item(number: number))) }
          throw error
        })
    }
    #expect(outcome.stopped == error && outcome.result == nil)
    #expect(outcome.counts.seen == 6)
  }

  @Test("are not read while the run is suspended")
  func suspended() async throws {
    let run = run()
    let isResumed = Atomic<Bool>(false)
    let job = numbers(Recorder())
    let concurrency = run.concurrency
    let outcome = try await onThread {
      BatchRunner(run).run(
        job,
        reading: ClosureReader { (context) throws(BatchError) in
          concurrency.setSuspended(true)
          Thread {
            for _ in 0..<1000 { sched_yield() }
            isResumed.store(true, ordering: .relaxed)
            concurrency.setSuspended(false)
          }.start()
          try context.checkCancellation()
          let isHeld = isResumed.load(ordering: .relaxed)
          #expect(isHeld)
          try context.yield(.item(Item(number: 1)))
        })
    }
    #expect(outcome.counts.seen == 1)
  }
}
