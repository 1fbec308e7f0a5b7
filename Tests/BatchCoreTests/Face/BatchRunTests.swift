import BatchCore
import Synchronization
import TestSupport
import Testing

/// `Batch.run`
struct BatchRunTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    for number in 1...9 { try t.file(PathBytes("d/f\(number)"), "\(number)\n") }
  }

  @Test("reports the children in the order of the tree, with what they printed", arguments: [1, 7])
  func children(concurrency: Int) async throws {
    var options = Batch.RunOptions()
    options.settings.concurrency = concurrency
    options.accepted = [0, 3]
    let seen = Mutex<[String]>([])
    let report = try await Batch.run(
      [t.path("d")], ["sh", "-c", "cat \"$1\"; echo e >&2; exit 3", "x"], options
    ) { child in
      let output = (try? child.standardOutput()) ?? []
      let errors = (try? child.standardError()) ?? []
      seen.withLock {
        $0.append(
          "\(String(decoding: output + errors, as: UTF8.self)) \(child.status ?? -1) \(child.tries) \(child.files)"
        )
      }
    }
    #expect(seen.withLock { $0 } == (1...9).map { "\($0)\ne\n 3 1 1" })
    #expect(report.counts.done == 9 && report.failures.isEmpty && !report.isCancelled)
  }

  @Test("writes outputs, skips those that are up to date, and names the files whose child failed")
  func outputs() async throws {
    var options = Batch.RunOptions()
    options.output = .replacing(suffix: ".o", directory: t.path("o"))
    let command = ["sh", "-c", "[ \"${1##*/}\" != f5 ] && cp \"$1\" \"$2\"", "x", "{}", "{out}"]
    let first = try await Batch.run([t.path("d")], command, options)
    #expect(first.counts.done == 8 && first.failures.map(\.error.path) == [t.path("d/f5")])
    let results = Mutex<[Batch.RanCommand.Result]>([])
    let second = try await Batch.run([t.path("d")], command, options) { child in
      results.withLock { $0.append(child.result) }
    }
    #expect(second.counts.skipped == 8 && second.counts.failed == 1)
    #expect(results.withLock { $0.count { if case .upToDate = $0 { true } else { false } } } == 8)
  }

  @Test("changes files in place, and refuses words that do not fit")
  func inPlace() async throws {
    var options = Batch.RunOptions()
    options.output = .inPlace
    let report = try await Batch.run([t.path("d/f1")], ["sed", "-i", "s/1/one/"], options)
    #expect(report.counts.done == 1 && t.content("d/f1") == Array("one\n".utf8))
    await #expect(throws: BatchError.self) {
      try await Batch.run([t.path("d")], ["cp", "{}", "{out}"], options)
    }
    await #expect(throws: BatchError.self) { try await Batch.run([t.path("d")], ["no-such-command"]) }
  }

  @Test("ends its children when the task is cancelled")
  func cancelled() async throws {
    let (folder, started) = (t.path("d"), t.path("started"))
    let task = Task {
      try await Batch.run(
        [folder], ["sh", "-c", "echo $$ >\"$1\"; exec sleep 300", "{}", started.description])
    }
    while (try? started.status(followingLinks: true))?.size ?? 0 == 0 { await Task.yield() }
    task.cancel()
    let report = try await task.value
    #expect(report.isCancelled && report.counts.done == 0)
  }
}
