import Dispatch
import Glibc
import TestSupport
import Testing

@testable import BatchEngine
@testable import BatchOutputs

@Suite("The stage of a run's outputs", .timeLimit(.minutes(1)))
struct OutputStageTests {
  private let fixture: TreeFixture
  /// The outputs that were staged, in order.
  private let staged = Recorder<(id: StagedOutput.ID, name: String)>()
  private let folders: OutputFolders

  init() throws {
    fixture = try TreeFixture()
    let naming = OutputNaming(.adding(suffix: ".gz"), directory: nil)
    folders = OutputFolders(
      OutputOptions(naming: naming, recognizing: .init(length: 1) { _ in false }))
    for name in ["d/a", "d/b", "e/c"] as [PathBytes] { try fixture.file(name, "content of \(name)") }
  }

  private func outputs(
    _ calls: FaultyCommitCalls, limit: Int = 100, isSynced: Bool = true
  ) -> OutputStage {
    OutputStage(limit: limit, folders, isSynced: isSynced, calls: calls)
  }

  /// The result of each staged output, in the order of staging.
  private func outcomes(_ outputs: OutputStage) -> [String] {
    staged.values.compactMap { id, name in
      switch outputs.commits.outcome(of: id) {
      case nil: nil
      case .committed(nil): "done \(name)"
      case .committed(let error?), .failed(let error): "failed \(name): \(error.message)"
      case .withoutFirst: "none \(name)"
      case .unwritten(_, let error): "unwritten \(name): \(error.message)"
      }
    }
  }

  /// Stages the output of a source.
  private func stage(_ name: PathBytes, _ outputs: OutputStage, isProved: Bool = true) throws {
    let record = try fixture.record(name)
    try outputs.reserve()
    let file = try AtomicFile(at: PathBytes(record.path.bytes + Array(".gz".utf8)), replacing: false)
    try file.write([1, 2, 3].span)
    try file.prepare(.init(of: record.status))
    let place = try folders.prepared(for: record)
    let output = outputs.add(file, of: record, record.status, at: place, isProved: isProved)
    staged.record((output.id, "\(PathBytes(file.target.lastComponent))"))
  }

  @discardableResult
  private func commit(
    _ calls: FaultyCommitCalls, isSynced: Bool = true, isProved: Bool = true
  ) throws -> [String] {
    let outputs = outputs(calls, isSynced: isSynced)
    for name in ["d/a", "d/b", "e/c"] as [PathBytes] { try stage(name, outputs, isProved: isProved) }
    #expect(calls.steps.values.isEmpty == isSynced)
    outputs.commits.flush()
    return outcomes(outputs)
  }

  @Test("syncs once, renames, syncs each folder once, and then removes the sources")
  func order() throws {
    let calls = FaultyCommitCalls()
    let outcomes = try commit(calls)
    #expect(
      calls.steps.values == [
        "sync d", "publish a.gz", "publish b.gz", "publish c.gz", "folder d", "folder e", "remove a",
        "remove b", "remove c",
      ])
    #expect(outcomes == ["done a.gz", "done b.gz", "done c.gz"])
    #expect(fixture.files() == ["d/a.gz", "d/b.gz", "e/c.gz"])
  }

  @Test("commits an output after a while, also if no further output is complete")
  func waitsNoLonger() throws {
    let removed = Gate()
    let calls = FaultyCommitCalls(before: ["remove a": { removed.open() }], longestWait: .nanoseconds(1))
    let outputs = outputs(calls)
    try stage("d/a", outputs)
    removed.pass()
    outputs.commits.flush()
    #expect(outcomes(outputs) == ["done a.gz"])
    #expect(calls.steps.values == ["sync d", "publish a.gz", "folder d", "remove a"])
  }

  @Test("counts complete outputs until their results are taken")
  func counts() throws {
    let counters = Counters()
    let outputs = OutputStage(limit: 100, folders, calls: FaultyCommitCalls(), counters: counters)
    for name in ["d/a", "d/b"] as [PathBytes] { try stage(name, outputs) }
    #expect(counters.staged == 2)
    outputs.commits.flush()
    #expect(counters.staged == 2)
    #expect(outcomes(outputs) == ["done a.gz", "done b.gz"])
    #expect(counters.staged == 0)
  }

  @Test("renames each output at once when it does not sync")
  func unsynced() throws {
    let calls = FaultyCommitCalls()
    try commit(calls, isSynced: false)
    #expect(
      calls.steps.values == [
        "publish a.gz", "remove a", "publish b.gz", "remove b", "publish c.gz", "remove c",
      ])
  }

  @Test("keeps a source whose output is not proved")
  func unproved() throws {
    let calls = FaultyCommitCalls()
    try commit(calls, isProved: false)
    #expect(!calls.steps.values.contains { $0.hasPrefix("remove") })
    #expect(fixture.files().count == 6)
  }

  @Test("renames and removes nothing after a sync that failed")
  func syncFails() throws {
    let calls = FaultyCommitCalls(failing: ["sync d"])
    let outcomes = try commit(calls)
    #expect(calls.steps.values == ["sync d"])
    #expect(outcomes == ["a.gz", "b.gz", "c.gz"].map { "failed \($0): fails: sync d" })
    #expect(fixture.files() == ["d/a", "d/b", "e/c"])
    _ = folders.finish()
    #expect(fixture.openDescriptors == 0)
  }

  @Test(
    "keeps apart what failed for lack of space, if its source was to be removed", arguments: [true, false])
  func withoutSpace(isProved: Bool) throws {
    let calls = FaultyCalls()
    calls.on(.change(.rename), nil, turns: 1...Int.max, .fail(ENOSPC))
    let folders = OutputFolders(
      mirroredInto: nil, isSynced: true, kept: 0, opener: FolderOpener(calls: calls))
    let outputs = OutputStage(limit: 100, folders, calls: FaultyCommitCalls())
    let record = try fixture.record("d/a")
    let place = try folders.prepared(for: record)
    try outputs.reserve()
    let file = try AtomicFile(at: fixture.path("d/a.gz"), in: place.outputFolder, replacing: false)
    try file.prepare(.init(of: record.status))
    let output = outputs.add(file, of: record, record.status, at: place, isProved: isProved)
    staged.record((output.id, "a.gz"))
    outputs.commits.flush()
    let message = "cannot give the finished file its name"
    #expect(outcomes(outputs) == ["\(isProved ? "unwritten" : "failed") a.gz: \(message)"])
    #expect(outputs.commits.count == 0 && fixture.files() == ["d/a", "d/b", "e/c"])
  }

  @Test("goes on with the other outputs when one cannot be renamed")
  func publishFails() throws {
    let calls = FaultyCommitCalls(failing: ["publish b.gz"])
    let outcomes = try commit(calls)
    #expect(outcomes == ["done a.gz", "failed b.gz: fails: publish b.gz", "done c.gz"])
    #expect(fixture.files() == ["d/a.gz", "d/b", "e/c.gz"])
    #expect(!calls.steps.values.contains("remove b"))
  }

  @Test("keeps a source when the folder of its output could not be synced")
  func folderFails() throws {
    let calls = FaultyCommitCalls(failing: ["folder d"])
    let outcomes = try commit(calls)
    #expect(
      outcomes == ["failed a.gz: fails: folder d", "failed b.gz: fails: folder d", "done c.gz"])
    #expect(fixture.files() == ["d/a", "d/a.gz", "d/b", "d/b.gz", "e/c.gz"])
    #expect(calls.steps.values.filter { $0 == "folder d" }.count == 1)
  }

  @Test("reports a source that cannot be removed, and keeps its output")
  func removalFails() throws {
    let outcomes = try commit(FaultyCommitCalls(failing: ["remove a"]))
    #expect(outcomes == ["failed a.gz: fails: remove a", "done b.gz", "done c.gz"])
    #expect(fixture.files() == ["d/a", "d/a.gz", "d/b.gz", "e/c.gz"])
  }

  @Test("keeps a source that changed since it was read, and ignores one that is gone")
  func sourceChanged() throws {
    let calls = FaultyCommitCalls()
    let outputs = outputs(calls)
    for name in ["d/a", "d/b", "e/c"] as [PathBytes] { try stage(name, outputs) }
    try fixture.append("more", to: "d/a")
    try fixture.remove("d/b")
    try fixture.remove("e/c")
    try fixture.symbolicLink("e/c", to: fixture.path("d/a"))
    outputs.commits.flush()
    #expect(
      outcomes(outputs).sorted() == [
        "done b.gz", "failed a.gz: changed since it was read, and stays beside its output",
        "failed c.gz: changed since it was read, and stays beside its output",
      ])
    #expect(fixture.exists("d/a") && fixture.exists("e/c"))
  }

  @Test("keeps a source that was rewritten, also with the same size and time")
  func sourceRewritten() throws {
    let fixture = fixture
    let time = 1_000_000_000
    try fixture.setModified("d/a", seconds: time)
    let calls = FaultyCommitCalls(before: [
      "remove a": {
        _ = try? fixture.file("d/a", "CONTENT OF d/a")
        try? fixture.setModified("d/a", seconds: time)
      }
    ])
    let outputs = outputs(calls)
    try stage("d/a", outputs)
    outputs.commits.flush()
    #expect(outcomes(outputs) == ["failed a.gz: changed since it was read, and stays beside its output"])
    #expect(fixture.content("d/a").map { $0.elementsEqual("CONTENT OF d/a".utf8) } == true)
  }

  @Test("removes a source from the folder in which it was read, after another folder took the name")
  func exchangedFolder() throws {
    let fixture = fixture
    // The other folder has a further name of the same file.
    let calls = FaultyCommitCalls(before: ["remove a": { try? fixture.exchange("d", "v") }])
    let outputs = outputs(calls)
    try stage("d/a", outputs)
    try fixture.folder("v")
    try fixture.hardLink("v/a", to: "d/a")
    outputs.commits.flush()
    // The further name changed the status time, so the source and the further name are kept.
    #expect(fixture.exists("d/a") && fixture.exists("v/a") && fixture.exists("v/a.gz"))
    let next = self.outputs(FaultyCommitCalls(before: ["remove b": { try? fixture.exchange("d", "v") }]))
    try fixture.file("v/c", "other")
    try stage("v/b", next)
    try fixture.file("d/b", "other")
    next.commits.flush()
    #expect(fixture.files().filter { $0.hasSuffix("/b") } == ["v/b"])
  }

  @Test("syncs each output by itself when syncfs does not report errors")
  func syncsEach() throws {
    let calls = FaultyCommitCalls(failing: ["sync b.gz"])
    let outputs = OutputStage(
      limit: 100, folders, calls: calls, devices: SyncDevices(limit: 4, release: "5.7.19"))
    for name in ["d/a", "d/b", "e/c"] as [PathBytes] { try stage(name, outputs) }
    outputs.commits.flush()
    #expect(Array(calls.steps.values.prefix(4)) == ["sync a.gz", "sync b.gz", "sync c.gz", "publish a.gz"])
    #expect(outcomes(outputs) == ["done a.gz", "failed b.gz: fails: sync b.gz", "done c.gz"])
    #expect(fixture.files() == ["d/a.gz", "d/b", "e/c.gz"])
  }

  @Test("syncs later outputs by themselves after a sync that failed, since the error may be theirs")
  func afterFailure() throws {
    let calls = FaultyCommitCalls(failing: ["sync d"])
    let outputs = outputs(calls)
    try stage("d/a", outputs)
    outputs.commits.flush()
    try stage("d/b", outputs)
    outputs.commits.flush()
    #expect(calls.steps.values.filter { $0.hasPrefix("sync") } == ["sync d", "sync b.gz"])
    #expect(outcomes(outputs) == ["failed a.gz: fails: sync d", "done b.gz"])
  }

  @Test("keeps a file that took the name of an output meanwhile")
  func nameTaken() throws {
    let outputs = outputs(FaultyCommitCalls())
    try stage("d/a", outputs)
    try fixture.file("d/a.gz", "mine")
    outputs.commits.flush()
    #expect(outcomes(outputs) == ["failed a.gz: cannot write the output: it exists already"])
    #expect(fixture.content("d/a.gz").map { $0.elementsEqual("mine".utf8) } == true)
    #expect(fixture.files() == ["d/a", "d/a.gz", "d/b", "e/c"])
  }

  @Test(
    "keeps no more outputs open than the limit, and works with a limit of one", arguments: [1, 2, 5], [1, 8])
  func places(limit: Int, threads: Int) async throws {
    let open = Crowd()
    let done = Recorder<StagedOutput.ID>()
    // An output is closed when it is renamed.
    let leave: @Sendable () -> Void = { open.leave() }
    let calls = FaultyCommitCalls(
      before: Dictionary(uniqueKeysWithValues: (0..<40).map { ("publish f\($0).gz", leave) }))
    let outputs = outputs(calls, limit: limit)
    let fixture = fixture
    for number in 0..<40 { try fixture.file(PathBytes("w/f\(number)"), "x") }
    let record = try fixture.record("w/f0")
    let place = try folders.prepared(for: record)
    try await onThreads(threads) { thread in
      for number in stride(from: thread, to: 40, by: threads) {
        guard (try? outputs.reserve()) != nil else {
          Issue.record("no place")
          return
        }
        open.enter()
        // Some places are released without an output, like those of files that cannot be read.
        guard number % 7 != 0,
          let file = try? AtomicFile(at: fixture.path(PathBytes("w/f\(number).gz")), replacing: false),
          (try? file.prepare(.init(of: record.status)) == nil) == true
        else {
          open.leave()
          outputs.release()
          continue
        }
        done.record(
          outputs.add(file, of: record, record.status, at: place, isProved: false).id)
      }
    }
    outputs.commits.flush()
    #expect(done.values.count { outputs.commits.outcome(of: $0) != nil } == 34)
    #expect(open.most <= limit)
    // The folder for syncs is kept open.
    #expect(fixture.openDescriptors == 1)
    _ = folders.finish()
  }

  @Test("of a stopped run names the outputs that are late, and still commits them")
  func late() throws {
    let disk = Gate()
    let calls = FaultyCommitCalls(before: ["sync d": { disk.pass() }], patience: .nanoseconds(0))
    let outputs = outputs(calls, limit: 4)
    try stage("d/a", outputs)
    try stage("e/c", outputs)
    let late = Recorder<String>()
    outputs.commits.flushLast { targets in
      for target in targets { late.record("\(PathBytes(target.lastComponent))") }
      disk.open()
    }
    #expect(late.values.filter { $0 == "a.gz" }.count == 1 && late.count == 2)
    #expect(outcomes(outputs) == ["done a.gz", "done c.gz"])
    #expect(fixture.files() == ["d/a.gz", "d/b", "e/c.gz"])
    // One of these calls would wait if a place were lost.
    for _ in 0..<4 { try outputs.reserve() }
  }

  @Test("of a stopped run names no output that is committed in time")
  func inTime() throws {
    let outputs = outputs(FaultyCommitCalls())
    try stage("d/a", outputs)
    outputs.commits.flushLast { Issue.record("\($0)") }
    #expect(outcomes(outputs) == ["done a.gz"])
  }

  @Test("keeps one place free for small outputs, and does not wait after a stop")
  func sparesPlaces() throws {
    let cancellation = Cancellation()
    let outputs = OutputStage(limit: 3, folders, cancellation)
    try outputs.reserve(sparing: 1)
    try outputs.reserve(sparing: 1)
    try outputs.reserve()
    outputs.release()
    cancellation.cancel(BatchError(.cancelled, "stopped"))
    #expect(throws: BatchError(.cancelled, "stopped")) { try outputs.reserve(sparing: 1) }
  }

  @Test("gives a free place to the thread that may take it, while other threads must keep one free")
  func wakesEach() async throws {
    for _ in 0..<50 {
      let cancellation = Cancellation()
      let outputs = OutputStage(limit: 2, folders, cancellation)
      try outputs.reserve()
      try outputs.reserve()
      // Ends the waits if the test fails.
      DispatchQueue.global().asyncAfter(deadline: .now() + 20) {
        cancellation.cancel(BatchError(.cancelled, "waited too long"))
      }
      try await onThreads(6) { thread in
        if thread == 0 {
          usleep(3000)
          return outputs.release()
        }
        // Only the thread 1 may take the last place. It frees both, so that the others can go on.
        #expect(throws: Never.self) { try outputs.reserve(sparing: thread == 1 ? 0 : 1) }
        outputs.release(thread == 1 ? 2 : 1)
      }
    }
  }

  @Test("ends the wait for a place when the run is stopped")
  func stopsWaiting() async throws {
    let cancellation = Cancellation()
    let outputs = OutputStage(limit: 1, folders, cancellation)
    try outputs.reserve()
    try await onThreads(2) { thread in
      guard thread == 0 else { return cancellation.cancel(BatchError(.cancelled, "stopped")) }
      #expect(throws: BatchError(.cancelled, "stopped")) { try outputs.reserve() }
    }
  }
}
