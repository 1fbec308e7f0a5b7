import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

@Suite("The end of an extraction")
struct ExtractionFinisherTests {
  private let temporary: TreeFixture
  private let folder: ContainedFolder
  private let calls = FaultyCalls()

  init() throws {
    temporary = try TreeFixture()
    folder = try ContainedFolder(temporary.root, opener: FolderOpener(calls: calls))
  }

  private func status(_ name: PathBytes) throws -> FileStatus {
    try #require(try OpenFolder(of: temporary.path("x")).look(at: name.isEmpty ? "." : name))
  }

  private func order(_ path: PathBytes, _ kind: ArchiveEntry.Kind, mode: UInt32 = 0o750) throws
    -> ExtractionOrder
  {
    let time = FileStatus.Time(seconds: 7, nanoseconds: 9)
    return ExtractionOrder(
      entry: ArchiveEntry(path: path, kind: kind, mode: mode, modified: time), place: try RelativePath(path))
  }

  private func finish(_ steps: [DeferredStep], _ options: ExtractionOptions) throws {
    let lane = MemberWriter(folder, options, Cancellation())
    let finisher = ExtractionFinisher(
      folder: folder, options: options, writer: lane, calls: calls, right: CommitRight(),
      hasMade: { _ in true })
    func check(_ order: ExtractionOrder, _ verdict: ExtractionResult) {
      guard case .made(let losses) = verdict, losses.isEmpty else {
        Issue.record("\(verdict)")
        return
      }
    }
    try finisher.makeLinks(DeferredSteps(steps), report: check)
    try finisher.describeFolders(DeferredSteps(steps), report: check)
  }

  @Test("gives folders their metadata, no matter which lane made them first")
  func race() throws {
    let options = ExtractionOptions()
    let count = Campaign.isFull ? 3000 : 900
    let folders = try (0..<count).map { try order(PathBytes("d\($0)"), .directory) }
    let files = try (0..<count).map { try order(PathBytes("d\($0)/f"), .file) }
    let steps = Mutex<[DeferredStep]>([])
    let arrived = Atomic(0)
    // One thread makes the folders as members, the other one makes them on the way to their files.
    DispatchQueue.concurrentPerform(iterations: 2) { thread in
      let lane = MemberWriter(folder, options, Cancellation())
      for number in 0..<count {
        let order = thread == 0 ? folders[number] : files[number]
        arrived.add(1, ordering: .acquiringAndReleasing)
        while arrived.load(ordering: .acquiring) < 2 * (number + 1) { sched_yield() }
        // The rounds try each distance between the two threads.
        if thread == 0 { for _ in 0..<(number % 300) { _ = arrived.load(ordering: .relaxed) } }
        do throws(BatchError) {
          if thread == 0 {
            try lane.makeFolder(order)
            steps.withLock { $0.append(DeferredStep(.folder, order)) }
          } else {
            _ = try lane.make(order) { _ in }
          }
        } catch {
          Issue.record("\(error)")
        }
      }
    }
    try finish(steps.withLock { $0 }, options)
    for order in folders {
      let status = try status(order.entry.path)
      #expect(status.mode & 0o777 == 0o750 && status.modified == order.entry.modified, "\(order.entry.path)")
    }
  }

  @Test(
    "does not change folders that existed before, unless they are to be overwritten",
    arguments: [false, true])
  func existing(overwrites: Bool) throws {
    try temporary.folder("old")
    let before = try status("old")
    let root = try status("")
    var options = ExtractionOptions()
    if overwrites { options.replacing = .always }
    let steps = try [
      DeferredStep(.folder, order("old", .directory)), DeferredStep(.folder, order(".", .directory)),
    ]
    try finish(steps, options)
    let after = try status("old")
    #expect((after.modified == before.modified) == !overwrites)
    #expect(try status("").mode == root.mode)
  }

  @Test("hides only the outermost new folder until the end, and the folders in it have their modes before")
  func sheltered() throws {
    let options = ExtractionOptions()
    let lane = MemberWriter(folder, options, Cancellation())
    _ = try lane.make(order("a/b/c/f", .file)) { _ in }
    let described = try ["a/b/d", "a/b/d/e"].map { try order($0, .directory) }
    for order in described { try lane.makeFolder(order) }
    lane.closeFolder()
    let plain = AtomicFile.folderPermissions
    let inner: [PathBytes] = ["a/b", "a/b/c", "a/b/d", "a/b/d/e"]
    #expect(try status("a").mode & 0o7777 == 0o700)
    for path in inner { #expect(try status(path).mode & 0o7777 == plain, "\(path)") }
    let changes = Atomic(0)
    calls.watchChanges { change, _ in
      if change == .setMode { changes.add(1, ordering: .relaxed) }
    }
    try finish(described.map { DeferredStep(.folder, $0) }, options)
    // The two that members describe, and the outermost one.
    #expect(changes.load(ordering: .relaxed) == 3)
    for path in ["a", "a/b", "a/b/c"] as [PathBytes] { #expect(try status(path).mode & 0o7777 == plain) }
    for order in described {
      let status = try status(order.entry.path)
      #expect(status.mode & 0o7777 == 0o750 && status.modified == order.entry.modified)
    }
  }

  @Test("creates nothing behind a link that takes the place of a new folder", arguments: [false, true])
  func swapped(isFile: Bool) throws {
    try temporary.folder("outside")
    let lane = MemberWriter(folder, ExtractionOptions(), Cancellation())
    try lane.makeFolder(order("a", .directory))
    try temporary.rename("a", to: "aside")
    try temporary.symbolicLink("a", to: "outside")
    #expect(throws: BatchError.self) {
      if isFile { _ = try lane.make(order("a/new", .file)) { _ in } }
      try lane.makeFolder(order("a/new", .directory))
    }
    #expect(temporary.names(in: "outside").isEmpty && temporary.names(in: "aside").isEmpty)
  }

  @Test("uses the last of several descriptions of a folder, and default modes for folders without one")
  func descriptions() throws {
    _ = try folder.open(Array("a/b".utf8)[...], creating: true)
    let steps = try [0o711, 0o755, 0o700].map { DeferredStep(.folder, try order("a", .directory, mode: $0)) }
    try finish(steps, ExtractionOptions())
    #expect(try status("a").mode & 0o777 == 0o700)
    let plain = AtomicFile.defaultPermissions
    #expect(try status("a/b").mode & 0o777 == plain | (plain >> 2) & 0o111)
  }
}
