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

  init() throws {
    temporary = try TreeFixture()
    folder = try ContainedFolder(temporary.root, opener: RunContext().folders)
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
      folder: folder, options: options, writer: lane, calls: RunContext().calls, right: CommitRight(),
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
    let count = 3000
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
