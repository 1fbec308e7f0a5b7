import TestSupport
import Testing

@testable import BatchEngine

/// The time that each file takes, when an observer asks for it.
@Suite struct FileTimeTests {
  private struct Observer: FileTimeObserver {
    let paths = Recorder<PathBytes>()
    func took(_ times: [FileTime]) {
      for time in times where time.duration > .zero { paths.record(time.path) }
    }
  }

  @Test(arguments: [1, 2, 7, 32]) func everyFileHasItsTimeInTreeOrder(concurrency: Int) async throws {
    let t = try TreeFixture()
    for number in 0..<300 { try t.file(PathBytes("d\(number % 7)/f\(number)"), "\(number)") }
    var options = BatchOptions()
    options.concurrency = concurrency
    options.runsOnCaller = concurrency == 1
    let observer = Observer()
    let lines = Recorder<String>()
    let run = RunContext(options: options, fileTimes: observer, calls: LinuxCalls())
    let source = run.tree([t.root, t.path("none")])
    _ = await BatchRunner(run).run(ReadingJob(told: lines), over: source)
    // A path that cannot be found has no time.
    #expect(observer.paths.values.map(\.description) == lines.values.map { String($0.prefix { $0 != " " }) })
    #expect(observer.paths.values.count == 300)
  }

  @Test func theTimeThatALaneWasHeldIsLeftOut() {
    let lane = Lane()
    let context = WorkerContext(lane: lane, run: RunContext(fileTimes: Observer(), calls: LinuxCalls()))
    lane.heldTime = .seconds(1000)
    context.endTime(of: PathBytes("a"))
    context.endTime(of: PathBytes("b"))
    lane.heldTime = .seconds(1000)
    context.startTime()
    context.endTime(of: PathBytes("c"))
    let durations = context.stopwatch?.times.map(\.duration) ?? []
    #expect(durations.map { $0 < .seconds(-900) } == [true, false, false])
  }

  @Test func noTimeIsTakenWithoutAnObserver() {
    let context = WorkerContext(lane: Lane(), run: RunContext(calls: LinuxCalls()))
    context.startTime()
    context.endTime(of: PathBytes("x"))
    context.endTime(of: WalkItem.standardInput)
    #expect(context.stopwatch == nil)
  }
}

@Suite struct FileStopwatchTests {
  @Test func anItemIsItsFileUnlessTheWorkerNamedSeveral() {
    var stopwatch = FileStopwatch()
    stopwatch.endItem("a")
    stopwatch.endItem(nil)
    stopwatch.start()
    stopwatch.end("m")
    stopwatch.end("n")
    stopwatch.endItem("archive")
    stopwatch.endItem("b")
    #expect(stopwatch.times.map(\.path) == ["a", "m", "n", "b"])
  }

  @Test func excludedTimeIsNotCounted() {
    var stopwatch = FileStopwatch()
    stopwatch.leaveOut(.seconds(1000))
    stopwatch.end("a")
    stopwatch.leaveOut(.seconds(-1000))
    stopwatch.end("b")
    #expect(stopwatch.times[0].duration < .seconds(-900) && stopwatch.times[1].duration > .seconds(900))
  }
}
