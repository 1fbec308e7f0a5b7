import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct FolderReadAheadTests {
  private let fixture: TreeFixture
  private let calls = FaultyCalls()

  init() throws {
    fixture = try TreeFixture()
    try fixture.file("folder/file", "text")
    try fixture.file("other/file", "text")
  }

  private func task(
    _ name: PathBytes, options: WalkOptions = WalkOptions(), pace: Duration = .zero
  ) throws -> FolderTask {
    let scanner = FolderScanner(calls: calls, options: options, descriptors: DescriptorBudget(capacity: 64))
    // Only a folder that was listed in another one has an identity to compare with.
    let root = scanner.scan(DirectoryPath(operand: fixture.root))
    let entry = try #require(
      root.subdirectories.first { root.names.withName(at: $0.nameOffset) { $0.elementsEqual(name.bytes) } })
    let device = try #require(root.directory.identity).device
    return FolderTask(
      root.directory.subdirectory(of: entry, names: root.names, device: device), scanner: scanner,
      pace: ScanPace(pace))
  }

  /// How many folders a task has scanned.
  private func count(_ folder: ScannedFolder) -> Int { folder.scanned.reduce(1) { $0 + count($1) } }

  @Test func scansOfferedFolders() async throws {
    let readAhead = FolderReadAhead(width: 1)
    let scanned = Gate()
    calls.on(.readEntries, "folder", turns: 2...2, .after { scanned.open() })
    let task = try task("folder")
    #expect(readAhead.offer(task))
    let count = try await onThread {
      scanned.pass()
      return task.value().items.count
    }
    #expect(count == 1)
    #expect(calls.count(of: .open, "folder") == 1)
  }

  @Test(
    "Folders that take little time are scanned with the folder that contains them, up to a limit for one turn"
  )
  func scansWhatIsBelow() throws {
    for number in 0..<150 { try fixture.file(PathBytes("deep/a\(number / 10)/b\(number % 10)/file"), "") }
    for (pace, expected) in [(Duration.zero, 128), (.microseconds(150), 10), (.milliseconds(2), 1)] {
      let task = try task("deep", pace: pace)
      task.runAhead()
      #expect(count(task.value()) == expected)
    }
    // Of folders with many files, fewer are scanned in one turn.
    for number in 0..<300 { try fixture.file(PathBytes("many/file\(number)"), "") }
    try fixture.folder("many/below")
    for (pace, expected) in [(Duration.microseconds(700), 1), (.microseconds(400), 2)] {
      let task = try task("many", pace: pace)
      task.runAhead()
      #expect(count(task.value()) == expected)
    }
  }

  @Test("No folder is scanned ahead below one that the filter may exclude, or when links are followed")
  func leavesTheRestToTheWalk() throws {
    try fixture.file("deep/a/b/file", "")
    var raw = stat()
    #expect(fixture.path("deep/a").withCString { lstat($0, &raw) } == 0)
    var (excluding, following) = (WalkOptions(), WalkOptions())
    excluding.excluded = [FileStatus(raw).identity]
    following.followsLinks = true
    for (options, expected) in [(WalkOptions(), 3), (excluding, 2), (following, 1)] {
      let task = try task("deep", options: options)
      task.runAhead()
      #expect(count(task.value()) == expected)
    }
  }

  @Test func takesNothingWithoutAWidth() throws {
    let readAhead = FolderReadAhead(width: 0)
    let task = try task("folder")
    #expect(!readAhead.offer(task))
    #expect(task.value().items.count == 1)
  }

  @Test func takesNothingAfterItIsClosed() throws {
    let readAhead = FolderReadAhead(width: 2)
    readAhead.close()
    #expect(!readAhead.offer(try task("folder")))
  }

  @Test func scansAFolderOnceWhenTheLaneAndTheWalkAsk() async throws {
    let task = try task("folder")
    let counts = Recorder<Int>()
    let line = Rendezvous(6)
    try await onThreads(6) { _ in
      line.arrive()
      counts.record(task.value().items.count)
    }
    #expect(counts.values == [1, 1, 1, 1, 1, 1])
    #expect(calls.count(of: .open, "folder") == 1)
  }

  @Test func scansAsManyFoldersAtOnceAsItsWidth() async throws {
    for number in 0..<3 { try fixture.folder(PathBytes("wide\(number)")) }
    let everybody = Rendezvous(3)
    for number in 0..<3 {
      calls.on(.readEntries, PathBytes("wide\(number)"), turns: 1...1, .before { everybody.arrive() })
    }
    let readAhead = FolderReadAhead(width: 3)
    let tasks = try (0..<3).map { try task(PathBytes("wide\($0)")) }
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
    let readAhead = FolderReadAhead(width: WalkOptions.readAhead(concurrency: concurrency.current))
    concurrency.set(6)
    let tasks = try (0..<6).map { try task(PathBytes("wide\($0)")) }
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
    let first = try task("folder")
    #expect(readAhead.offer(first))
    let others = (0..<2000).map { _ in WeakTask() }
    try await onThread { [self] in
      busy.pass()
      // The walk reaches these folders before the lane does; it scans them itself and then drops them.
      for other in others {
        let task = try task("other")
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

  @Test func beginsNoScanAfterTheWalkIsGivenUp() async throws {
    let (busy, free) = (Gate(), Gate())
    calls.on(
      .readEntries, "folder", turns: 1...1,
      .before {
        busy.open()
        free.pass()
      })
    let (running, waiting) = (try task("folder"), try task("other"))
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
