import BatchEngine
import Glibc
import TestSupport
import Testing

@testable import BatchCore

/// How calls run concurrently, how they are cancelled, and what they leave behind.
@Suite(.timeLimit(.minutes(3))) struct BatchRunTests {
  /// A tree of `count` files of 8,000 bytes.
  private static func tree(_ count: Int) throws -> TreeFixture {
    let t = try TreeFixture()
    for number in 0..<count { try t.file(PathBytes("d/\(number % 10)/f\(number)"), size: 8000) }
    return t
  }

  private static func compressing(_ concurrency: Int?) -> Batch.CompressOptions {
    var options = Batch.CompressOptions()
    options.settings.concurrency = concurrency
    options.compressesAll = true
    return options
  }

  @Test func reportsAreTheSameAtEveryConcurrency() async throws {
    var found = Set<[String]>()
    for concurrency in [1, 2, 7, nil] {
      let t = try Self.tree(60)
      try t.hardLink("d/0/more", to: "d/0/f0")
      try t.fifo("d/pipe")
      let report = try await Batch.compress([t.path("d"), t.path("none")], Self.compressing(concurrency))
      func short(_ path: PathBytes?) -> String {
        String(path?.description.dropFirst(t.root.description.count) ?? "")
      }
      found.insert(
        report.outputs.map { "\(short($0.source)) \(short($0.path)) \($0.sourceSize) \($0.size)" }
          + report.failures.map { "\($0.event) \(short($0.error.path))" } + ["\(report.counts)"])
      #expect(report.written == 60 && report.linked == 1 && report.counts.failed == 1)
    }
    #expect(found.count == 1)
  }

  @Test func progressEndsWithTheCallAndCountsAllFiles() async throws {
    let t = try Self.tree(50)
    let progress = Batch.Progress(every: .milliseconds(1))
    async let report = Batch.compress([t.path("d")], Self.compressing(2), progress: progress)
    var states: [Batch.Progress.Snapshot] = []
    for await state in progress { states.append(state) }
    #expect(try await report.written == 50)
    #expect(states.last?.files == 50 && states.last?.bytes == 400_000)
    #expect(zip(states, states.dropFirst()).allSatisfy { $0.files <= $1.files && $0 != $1 })
    #expect(states.allSatisfy { ($0.totalFiles ?? 50) == 50 && ($0.totalBytes ?? 400_000) == 400_000 })
  }

  @Test(arguments: [1, 3]) func atACheckpointAllOutputsOfSafeFilesHaveTheirNames(concurrency: Int)
    async throws
  {
    let t = try Self.tree(60)
    var options = Self.compressing(concurrency)
    options.settings.stride = 5
    options.settings.operationsPerCheckpoint = 2
    let (d, checked) = (t.path("d"), options)
    let progress = Batch.Progress(every: .milliseconds(1))
    async let report = Batch.compress([d], checked, progress: progress)
    var last = Batch.Progress.Snapshot()
    for await state in progress {
      last = state
      // A checkpoint comes after two operations of five files each; an operation may contain files of several
      // folders.
      #expect(state.safeFiles % 10 == 0 && state.safeFiles <= state.files)
      let outputs = (0..<10).reduce(0) {
        $0 + t.names(in: PathBytes("d/\($1)")).count { $0.bytes.last == UInt8(ascii: "z") }
      }
      #expect(outputs >= state.safeFiles)
    }
    #expect(try await report.written == 60)
    #expect(last.safeFiles == 60)
  }

  @Test func progressEndsWhenACallCannotBegin() async throws {
    let progress = Batch.Progress()
    var options = Batch.CompressOptions()
    options.level = 99
    let failing = options
    async let report = Batch.compress(["x"], failing, progress: progress)
    for await state in progress { Issue.record("\(state)") }
    do {
      _ = try await report
      Issue.record("a level that no format has")
    } catch let error as BatchError {
      #expect(error.code == .invalid)
    }
  }

  @Test func aCallRunsWhenItsProgressIsNotRead() async throws {
    let t = try Self.tree(30)
    let progress = Batch.Progress(every: .milliseconds(1))
    let report = try await Batch.compress([t.path("d")], Self.compressing(2), progress: progress)
    #expect(report.written == 30)
    var states: [Batch.Progress.Snapshot] = []
    for await state in progress { states.append(state) }
    #expect(states.map(\.files) == [30], "the newest state is kept, and no other")
  }

  /// A run that would take a minute is cancelled when its first outputs have their final names.
  @Test func aCancelledRunKeepsCompleteOutputsOnly() async throws {
    let t = try Self.tree(200)
    var options = Self.compressing(2)
    options.settings.bytesPerSecond = 26_000
    options.settings.stride = 1
    options.settings.openFiles = 24
    let (paced, d) = (options, t.path("d"))
    let progress = Batch.Progress(every: .milliseconds(1))
    let task = Task { try await Batch.compress([d], paced, progress: progress) }
    for await state in progress where state.files > 0 { task.cancel() }
    let report = try await task.value
    #expect(report.isCancelled && report.written > 0 && report.written < 200)
    #expect(report.counts.done == report.written && report.outputs.count == report.written)
    #expect(report.failures.isEmpty)
    var (sources, outputs, others) = (0, Set<PathBytes>(), [PathBytes]())
    for folder in t.names(in: "d") {
      let folder = PathBytes("d").appending(folder.bytes)
      for name in t.names(in: folder) {
        let path = folder.appending(name.bytes)
        if name.bytes.first != UInt8(ascii: "f") {
          others.append(path)
        } else if name.bytes.suffix(3).elementsEqual(".gz".utf8) {
          outputs.insert(t.path(path))
        } else {
          sources += 1
        }
      }
    }
    #expect(sources == 200 && others.isEmpty)
    #expect(outputs == Set(report.outputs.map(\.path)))
    // Each of these outputs is complete.
    var back = Batch.DecompressOptions()
    back.outputDirectory = t.path("back")
    let decompressed = try await Batch.decompress(Array(outputs), back)
    #expect(decompressed.written == outputs.count && decompressed.failures.isEmpty)
    // A second call compresses the remaining files.
    let rest = try await Batch.compress([d], Self.compressing(2))
    #expect(rest.written + report.written == 200)
  }

  @Test func aCancelledArchiveLeavesNoFile() async throws {
    let t = try Self.tree(200)
    var options = Batch.ArchiveOptions()
    options.settings.bytesPerSecond = 26_000
    options.settings.stride = 1
    let (paced, root, d) = (options, t.path("x.tar.zst"), t.path("d"))
    let progress = Batch.Progress(every: .milliseconds(1))
    let task = Task { try await Batch.archive([d], to: root, paced, progress: progress) }
    for await state in progress where state.bytes > 0 { task.cancel() }
    let report = try await task.value
    #expect(report.isCancelled && report.size == nil && t.names() == ["d"])
  }

  @Test func aTaskThatIsCancelledBeforeItsCallBeginsNothing() async throws {
    let t = try Self.tree(3)
    let (d, gate) = (t.path("d"), Gate())
    let task = Task {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        Task {
          try await onThread { gate.pass() }
          continuation.resume()
        }
      }
      return try await Batch.compress([d])
    }
    task.cancel()
    gate.open()
    let report = try await task.value
    #expect(report.isCancelled && report.counts.seen == 0 && report.written == 0)
    #expect(t.names(in: "d/0") == ["f0"])
  }

  @Test func callsRunConcurrently() async throws {
    let (one, two) = (try Self.tree(40), try Self.tree(70))
    async let first = Batch.compress([one.path("d")], Self.compressing(2))
    async let second = Batch.compress([two.path("d")], Self.compressing(3))
    #expect(try await first.written == 40)
    #expect(try await second.written == 70)
  }

  /// There are more calls than the pool of tasks has threads, and all of them wait in a handler.
  @Test func noThreadOfATaskIsBlocked() async throws {
    let t = try Self.tree(2)
    let (d, gate, begun) = (t.path("d"), Gate(), Recorder<Int>())
    let count = 2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)) + 2
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<count {
        group.addTask {
          try await Batch.hash([d]) { _ in
            begun.record(number)
            gate.pass()
          }.counts.done
        }
      }
      // This task would get no thread if the calls blocked the threads of the pool.
      while Set(begun.values).count < count { await Task.yield() }
      gate.open()
      for try await done in group { #expect(done == 2) }
    }
  }

  @Test func aHundredCallsLeaveNothingBehind() async throws {
    let t = try Self.tree(12)
    func call() async throws {
      let progress = Batch.Progress(every: .milliseconds(1))
      let report = try await Batch.compress([t.path("d")], Self.compressing(3), progress: progress)
      #expect(report.written + report.upToDate == 12)
    }
    func entries(_ folder: String) -> Int {
      guard let stream = opendir("/proc/self/\(folder)") else { return -1 }
      defer { closedir(stream) }
      var count = 0
      while readdir(stream) != nil { count += 1 }
      return count
    }
    for _ in 0..<5 { try await call() }
    let (files, threads) = (entries("fd"), entries("task"))
    for _ in 0..<100 { try await call() }
    #expect(entries("fd") <= files && t.openDescriptors == 0)
    #expect(entries("task") <= threads + 20)
  }
}
