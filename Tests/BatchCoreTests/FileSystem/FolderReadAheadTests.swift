import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct FolderReadAheadTests {
  private let fixture: TreeFixture
  private let calls = FaultyCalls()

  init() throws {
    fixture = try TreeFixture()
    try fixture.file("folder/file", "text")
    try fixture.file("other/file", "text")
  }

  private func task(_ name: PathBytes) -> FolderTask {
    let scanner = FolderScanner(
      calls: calls, options: WalkOptions(), descriptors: DescriptorBudget(capacity: 64))
    return FolderTask(
      DirectoryPath(operand: fixture.path(name)), scanner: scanner, pace: ScanPace(.zero))
  }

  @Test func scansWhatWasOffered() async throws {
    let readAhead = FolderReadAhead(width: 1)
    let scanned = Gate()
    calls.on(.readEntries, "folder", turns: 2...2, .after { scanned.open() })
    let task = task("folder")
    #expect(readAhead.offer(task))
    let count = try await onThread {
      scanned.pass()
      return task.value().items.count
    }
    #expect(count == 1)
    #expect(calls.count(of: .open, "folder") == 1)
  }

  @Test func takesNothingWithoutAWidth() {
    let readAhead = FolderReadAhead(width: 0)
    let task = task("folder")
    #expect(!readAhead.offer(task))
    #expect(task.value().items.count == 1)
  }

  @Test func takesNothingAfterItIsClosed() {
    let readAhead = FolderReadAhead(width: 2)
    readAhead.close()
    #expect(!readAhead.offer(task("folder")))
  }

  @Test func scansAFolderOnceWhoeverAsks() async throws {
    let task = task("folder")
    let counts = Recorder<Int>()
    let line = Rendezvous(6)
    try await onThreads(6) { _ in
      line.arrive()
      counts.record(task.value().items.count)
    }
    #expect(counts.values == [1, 1, 1, 1, 1, 1])
    #expect(calls.count(of: .open, "folder") == 1)
  }

  @Test func scansAsManyAtOnceAsItIsWide() async throws {
    for number in 0..<3 { try fixture.folder(PathBytes("wide\(number)")) }
    let everybody = Rendezvous(3)
    for number in 0..<3 {
      calls.on(.readEntries, PathBytes("wide\(number)"), turns: 1...1, .before { everybody.arrive() })
    }
    let readAhead = FolderReadAhead(width: 3)
    let tasks = (0..<3).map { task(PathBytes("wide\($0)")) }
    for task in tasks { #expect(readAhead.offer(task)) }
    let isEmpty = try await onThread { tasks.allSatisfy { $0.value().items.isEmpty } }
    #expect(isEmpty)
  }

  @Test func scansMoreAtOnceWhenMoreOperationsRun() async throws {
    for number in 0..<6 { try fixture.folder(PathBytes("wide\(number)")) }
    let everybody = Rendezvous(6)
    for number in 0..<6 {
      calls.on(.readEntries, PathBytes("wide\(number)"), turns: 1...1, .before { everybody.arrive() })
    }
    let concurrency = ConcurrencyLimit(1)
    let readAhead = FolderReadAhead(following: concurrency)
    concurrency.set(6)
    let tasks = (0..<6).map { task(PathBytes("wide\($0)")) }
    for task in tasks { #expect(readAhead.offer(task)) }
    let isEmpty = try await onThread { tasks.allSatisfy { $0.value().items.isEmpty } }
    #expect(isEmpty)
  }

  @Test func holdsABoundedNumberOfFoldersWhileItIsBusy() async throws {
    let (busy, free) = (Gate(), Gate())
    calls.on(
      .readEntries, "folder", turns: 1...1,
      .before {
        busy.open()
        free.pass()
      })
    let readAhead = FolderReadAhead(width: 1)
    let first = task("folder")
    #expect(readAhead.offer(first))
    let others = (0..<2000).map { _ in WeakTask() }
    try await onThread { [self] in
      busy.pass()
      // The walk comes by before the lane does: it scans these itself and has no more use for them.
      for other in others {
        let task = task("other")
        other.task.withLock { $0.task = task }
        let isTaken = readAhead.offer(task)
        _ = task.value()
        if isTaken { readAhead.retire() }
      }
    }
    #expect(others.count { $0.task.withLock { $0.task != nil } } <= 256)
    free.open()
    _ = try await onThread { first.value().items.count }
  }

  @Test func beginsNothingMoreWhenTheWalkIsGivenUp() async throws {
    let (busy, free) = (Gate(), Gate())
    calls.on(
      .readEntries, "folder", turns: 1...1,
      .before {
        busy.open()
        free.pass()
      })
    let (running, waiting) = (task("folder"), task("other"))
    weak var released: FolderReadAhead?
    do {
      let readAhead = FolderReadAhead(width: 1)
      released = readAhead
      #expect(readAhead.offer(running))
      try await onThread { busy.pass() }
      #expect(readAhead.offer(waiting))
    }
    #expect(released == nil)
    free.open()
    _ = try await onThread { running.value().items.count }
  }

  private final class WeakTask: Sendable {
    struct Reference { weak var task: FolderTask? }
    let task = Mutex(Reference())
  }
}
