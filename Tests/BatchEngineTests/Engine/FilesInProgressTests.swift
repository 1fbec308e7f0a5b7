import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct FilesInProgressTests {
  private final class Clock: Sendable {
    let now = Atomic<UInt64>(1000)
  }

  private struct Named: FileItem, Sendable {
    let path: PathBytes?
  }

  private static func chunk(_ names: PathBytes?...) -> Chunk<Named> {
    Chunk(
      index: 0, items: names.map { Named(path: $0) }, byteCount: 0, isLarge: false, pathCount: names.count,
      retained: 0)
  }

  @Test func saysWhereEachLaneIsAndSinceWhen() {
    let clock = Clock()
    let progress = FilesInProgress { clock.now.load(ordering: .relaxed) }
    let lanes = (0..<3).map { _ in progress.addLane() }
    #expect(progress.files.isEmpty)
    lanes[0].begin(Self.chunk("a", "b"))
    clock.now.store(1500, ordering: .relaxed)
    lanes[1].begin(Self.chunk("c", nil))
    lanes[2].begin(Self.chunk("d"))
    clock.now.store(1700, ordering: .relaxed)
    #expect(
      progress.files == [
        FileInProgress(path: "a", age: 700), FileInProgress(path: "c", age: 200),
        FileInProgress(path: "d", age: 200),
      ])
    lanes[0].advance(to: 1)
    lanes[1].advance(to: 1)
    clock.now.store(1701, ordering: .relaxed)
    #expect(
      progress.files == [FileInProgress(path: "d", age: 201), FileInProgress(path: "b", age: 1)])
    for lane in lanes { lane.end() }
    #expect(progress.files.isEmpty)
  }

  @Test func aFileThatSeveralLanesShareIsNamedOnce() {
    let clock = Clock()
    let progress = FilesInProgress { clock.now.load(ordering: .relaxed) }
    progress.addLane().begin(Self.chunk("large"))
    clock.now.store(4000, ordering: .relaxed)
    progress.addLane().begin(Self.chunk("large"))
    #expect(progress.files == [FileInProgress(path: "large", age: 3000)])
  }

  @Test(arguments: [1, 2, 7, 32]) func aReadThatHangsIsNamed(concurrency: Int) async throws {
    let fixture = try TreeFixture()
    for number in 0..<100 { try fixture.file(PathBytes("d\(number % 4)/f\(number)"), "content") }
    let (calls, gate, lines) = (FaultyCalls(), Gate(), Recorder<String>())
    calls.on(.read, "f42", .before { gate.pass() })
    var options = BatchOptions()
    options.concurrency = concurrency
    options.runsOnCaller = concurrency == 1
    options.stride = .fixed(5)
    let run = RunContext(options: options, calls: calls)
    let hung = fixture.path("d2/f42")
    try await onThreads(2) { thread in
      if thread == 0 {
        _ = BatchRunner(run).run(ReadingJob(told: lines), over: run.tree([fixture.root]))
      } else {
        // All other files are finished, also those of the lane that began the hung file.
        while run.filesInProgress.files.map(\.path) != [hung] || calls.count(of: .read, "f42") == 0 {
          sched_yield()
        }
        gate.open()
      }
    }
    #expect(run.filesInProgress.files.isEmpty)
    #expect(lines.values.count == 100)
  }
}
