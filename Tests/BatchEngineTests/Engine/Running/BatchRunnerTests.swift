import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct BatchRunnerTests {
  /// The default options with one change.
  static func options(
    _ concurrency: Int, stride: ChunkStride = .fixed(1), change: (inout BatchOptions) -> Void = { _ in }
  ) -> BatchOptions {
    var options = BatchOptions()
    options.concurrency = concurrency
    options.stride = stride
    change(&options)
    return options
  }

  /// Runs a job over numbers.
  static func run<Output: Sendable>(
    _ runner: BatchRunner, _ job: ClosureJob<Int, Output>, over numbers: some Sequence<Int>,
    failure: BatchError? = nil
  ) async throws -> RunSummary {
    let items = Array(numbers)
    return try await onThread { runner.run(job, over: ListSource(items, failure: failure)).summary }
  }

  @Test(arguments: [1, 2, 7, 32], [1, 3, 64]) func collectsInOrder(concurrency: Int, stride: Int) async throws
  {
    let collected = Recorder<[Int]>()
    let job = ClosureJob<Int, [Int]>(
      onProcess: { chunk, _ in chunk.items }, onCollect: { collected.record($0) })
    let runner = BatchRunner(options: Self.options(concurrency, stride: .fixed(stride)))
    let summary = try await Self.run(runner, job, over: 0..<1000)
    #expect(collected.values.flatMap(\.self) == Array(0..<1000))
    #expect(collected.values.allSatisfy { $0.count <= stride })
    #expect(summary.counts.seen == 1000)
    #expect(summary.stopped == nil)
  }

  @Test(arguments: [1, 2, 9]) func processesAsManyAtOnceAsItMay(concurrency: Int) async throws {
    let crowd = Crowd()
    let everybody = Rendezvous(concurrency)
    let job = ClosureJob<Int, Int>(onProcess: { _, _ in
      crowd.enter()
      everybody.arrive()
      crowd.leave()
      return 0
    })
    _ = try await Self.run(BatchRunner(options: Self.options(concurrency)), job, over: 0..<300)
    #expect(crowd.most == concurrency)
  }

  @Test func collectsOneAtATime() async throws {
    let crowd = Crowd()
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in chunk.index },
      onCollect: { _ in
        crowd.enter()
        crowd.leave()
      })
    _ = try await Self.run(BatchRunner(options: Self.options(8)), job, over: 0..<400)
    #expect(crowd.most == 1)
  }

  // MARK: Trees

  /// A tree of files of many sizes in a few folders, with links and other entries that are no files.
  static func tree() throws -> TreeFixture {
    let fixture = try TreeFixture()
    for number in 0..<150 {
      try fixture.file(PathBytes("folder\(number % 7)/file\(number)"), size: number * number * 3)
    }
    try fixture.file("large", size: 9 << 20)
    try fixture.file(PathBytes(Array("odd ".utf8) + [0xff, 0x0a, 0x5c]), "odd")
    try fixture.sparseFile("sparse", size: 3 << 20)
    try fixture.hardLink("twin", to: "large")
    try fixture.fifo("pipe")
    try fixture.socket("folder1/socket")
    try fixture.symbolicLink("folder2/dangling", to: "nowhere")
    try fixture.symbolicLink("loop", to: "loop")
    return fixture
  }

  @Test func givesTheSameResultsAtEveryConcurrencyAndStride() async throws {
    let fixture = try Self.tree()
    var results = [[String]]()
    var problems = [[String]]()
    for concurrency in [1, 2, 7, 32] {
      for stride in [ChunkStride.fixed(1), .fixed(64), .automatic] {
        let observer = ProblemRecorder()
        let runner = BatchRunner(options: Self.options(concurrency, stride: stride), observer: observer)
        let job = ReadingJob()
        let summary = try await onThread { runner.run(job, over: runner.tree([fixture.root])) }
        #expect(summary.counts.seen == 158)
        #expect(summary.counts.done == 154)
        #expect(summary.counts.skipped == 4)
        #expect(summary.counts.failed == 0)
        #expect(summary.stopped == nil)
        results.append(job.lines.values)
        problems.append(observer.lines.values)
      }
    }
    #expect(Set(results).count == 1)
    #expect(Set(problems).count == 1)
    #expect(problems[0].count == 4)
    #expect(results[0].contains("\(fixture.path("large")) \(Checksum(of: TreeFixture.content(9 << 20)))"))
    #expect(fixture.openDescriptors == 0)
  }

  @Test func readsWithTwoDescriptorsAtAnyConcurrency() async throws {
    let fixture = try Self.tree()
    let runner = BatchRunner(options: Self.options(32) { $0.descriptors = 2 })
    let job = ReadingJob()
    let summary = try await onThread { runner.run(job, over: runner.tree([fixture.root])) }
    #expect(summary.counts.done == 154)
    #expect(fixture.openDescriptors == 0)
  }

  @Test func keepsWithinItsDescriptors() async throws {
    let fixture = try Self.tree()
    let calls = FaultyCalls()
    let most = Mutex(0)
    calls.on(.read, nil, .before { most.withLock { $0 = max($0, fixture.openDescriptors) } })
    let runner = BatchRunner(options: Self.options(8) { $0.descriptors = 6 }, calls: calls)
    let job = ReadingJob()
    _ = try await onThread { runner.run(job, over: runner.tree([fixture.root])) }
    #expect(most.withLock { $0 } <= 6)
    #expect(most.withLock { $0 } >= 2)
  }

  /// Large blocks; opens the gate when `full` of them are admitted.
  struct BlockSource: BatchSource {
    let admitted: Recorder<Int>
    let full: Int
    let gate: Gate
    var rest = 200

    mutating func next() -> Yielded<Int, Never>? {
      guard rest > 0 else { return nil }
      rest -= 1
      admitted.record(rest)
      if admitted.values.count == full { gate.open() }
      return .item(rest)
    }

    func weight(of item: Int) -> Int64 { .max }
    func retained(by item: Int) -> Int64 { 8 << 20 }
  }

  /// One block for each operation, and one waiting block for each of them that can have a processor.
  @Test(arguments: [(1, 1.0), (2, 2), (2, 8), (7, 7), (32, 32), (8, 2), (32, 0.5)])
  func admitsFewLargeBlocks(concurrency: Int, processors: Double) async throws {
    let most = concurrency + min(concurrency, max(1, Int(processors.rounded(.up))))
    let admitted = Recorder<Int>()
    let waiting = Recorder<Int>()
    let collected = Recorder<Int>()
    let gate = Gate()
    let source = BlockSource(admitted: admitted, full: most, gate: gate)
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in
        // Block 0 is done only when no other block can be admitted.
        if chunk.index == 0 { gate.pass() }
        waiting.record(admitted.values.count - collected.values.count)
        return chunk.index
      }, onCollect: { collected.record($0) })
    let options = Self.options(concurrency) {
      $0.memory = 64 << 30
      $0.processors = processors
    }
    let runner = BatchRunner(options: options)
    let summary = try await onThread { runner.run(job, over: source) }
    #expect(collected.values == Array(0..<200) && summary.stopped == nil)
    #expect(waiting.values.max() == most)
  }

  @Test func readsWithLessMemoryThanAChunkTakes() async throws {
    let fixture = try Self.tree()
    let runner = BatchRunner(options: Self.options(8) { $0.memory = 1 })
    let job = ReadingJob()
    let summary = try await onThread { runner.run(job, over: runner.tree([fixture.root])) }
    #expect(summary.counts.done == 154)
  }

  @Test func hasSixtyFourReadsInFlight() async throws {
    let fixture = try TreeFixture()
    for number in 0..<64 { try fixture.file(PathBytes("file\(number)"), "content") }
    let calls = FaultyCalls()
    let everybody = Rendezvous(64)
    // Each file's first read waits for the first reads of all other files.
    for number in 0..<64 {
      calls.on(.read, PathBytes("file\(number)"), turns: 1...1, .before { everybody.arrive() })
    }
    let runner = BatchRunner(options: Self.options(64), calls: calls)
    let job = ReadingJob()
    let summary = try await onThread { runner.run(job, over: runner.tree([fixture.root])) }
    #expect(summary.counts.done == 64)
  }

  @Test func walksWhileFilesAreRead() async throws {
    let fixture = try TreeFixture()
    try fixture.file("first", "1")
    for number in 0..<200 { try fixture.file(PathBytes("folder/\(number)"), "2") }
    let calls = FaultyCalls()
    let listed = Gate()
    // The first read of the first file returns only after the next folder has been listed.
    calls.on(.read, "first", .before { listed.pass() })
    calls.on(.readEntries, "folder", .after { listed.open() })
    let runner = BatchRunner(options: Self.options(2), calls: calls)
    let job = ReadingJob()
    let summary = try await onThread { runner.run(job, over: runner.tree([fixture.root])) }
    #expect(summary.counts.done == 201)
  }

  // MARK: On the caller's thread

  @Test func processesOnTheCallersThread() async throws {
    let threads = Recorder<ObjectIdentifier>()
    let checkpoints = Recorder<Int>()
    let collected = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in
        threads.record(ObjectIdentifier(Thread.current))
        return chunk.items[0]
      }, onCollect: { collected.record($0) },
      onCheckpoint: { checkpoints.record(collected.count) })
    let runner = BatchRunner(
      options: Self.options(1) {
        $0.runsOnCaller = true
        $0.chunksPerCheckpoint = 4
      })
    let caller = try await onThread {
      _ = runner.run(job, over: ListSource(0..<10))
      return ObjectIdentifier(Thread.current)
    }
    #expect(threads.values == Array(repeating: caller, count: 10))
    #expect(collected.values == Array(0..<10))
    #expect(checkpoints.values == [4, 8, 10])
  }

  @Test func processesOnLanesOtherwise() async throws {
    let threads = Recorder<ObjectIdentifier>()
    let job = ClosureJob<Int, Int>(onProcess: { chunk, _ in
      threads.record(ObjectIdentifier(Thread.current))
      return 0
    })
    let runner = BatchRunner(options: Self.options(1))
    let caller = try await onThread {
      _ = runner.run(job, over: ListSource(0..<10))
      return ObjectIdentifier(Thread.current)
    }
    #expect(threads.count == 10)
    #expect(!threads.values.contains(caller))
  }

  // MARK: Checkpoints

  @Test(arguments: [false, true]) func collectsEverythingBeforeACheckpoint(runsOnCaller: Bool) async throws {
    let collected = Recorder<Int>()
    let checkpoints = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in chunk.index }, onCollect: { collected.record($0) },
      onCheckpoint: { checkpoints.record(collected.count) })
    let runner = BatchRunner(
      options: Self.options(runsOnCaller ? 1 : 6) {
        $0.runsOnCaller = runsOnCaller
        $0.chunksPerCheckpoint = 20
      })
    _ = try await Self.run(runner, job, over: 0..<90)
    #expect(checkpoints.values == [20, 40, 60, 80, 90])
  }

  // MARK: Back-pressure and changes while it runs

  @Test func losesNothingWhenResultsAreTakenSlowly() async throws {
    // There are more chunks than results may wait; the first result is accepted when all chunks that may run
    // have run.
    let count = 12_000
    let processed = Atomic<Int>(0)
    let full = Gate()
    let collected = Atomic<Int>(0)
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in
        if processed.add(1, ordering: .relaxed).newValue == 4096 { full.open() }
        return chunk.index
      },
      onCollect: { output in
        if output == 0 { full.pass() }
        collected.add(1, ordering: .relaxed)
      })
    let summary = try await Self.run(BatchRunner(options: Self.options(4)), job, over: 0..<count)
    #expect(summary.counts.seen == count)
    #expect(collected.load(ordering: .relaxed) == count)
  }

  @Test func losesNothingWhenOneChunkTakesLongerThanAllOthers() async throws {
    let count = 6000
    let processed = Atomic<Int>(0)
    let full = Gate()
    let collected = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in
        if chunk.index == 0 { full.pass() }
        if processed.add(1, ordering: .relaxed).newValue == 4096 { full.open() }
        return chunk.index
      }, onCollect: { collected.record($0) })
    _ = try await Self.run(BatchRunner(options: Self.options(4)), job, over: 0..<count)
    #expect(collected.values == Array(0..<count))
  }

  @Test func changesItsConcurrencyAndPausesWhileItRuns() async throws {
    let collected = Recorder<Int>()
    let runner = BatchRunner(options: Self.options(2))
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in
        switch chunk.index % 50 {
        case 10: runner.context.concurrency.set(8)
        case 20: runner.context.concurrency.set(1)
        case 30: runner.context.concurrency.setSuspended(true)
        default: break
        }
        // A stopped run must lift a suspension, or it would never end.
        runner.context.concurrency.setSuspended(false)
        return chunk.index
      }, onCollect: { collected.record($0) })
    _ = try await Self.run(runner, job, over: 0..<1000)
    #expect(collected.values == Array(0..<1000))
  }
}
