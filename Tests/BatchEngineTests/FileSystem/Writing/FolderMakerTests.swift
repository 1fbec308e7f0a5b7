import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite("A maker of folders")
struct FolderMakerTests {
  private let fixture: TreeFixture

  init() throws { fixture = try TreeFixture() }

  @Test("makes the missing folders and leaves existing ones as they are")
  func makes() throws {
    for _ in 0..<2 {
      try FolderMaker(calls: LinuxCalls()).make(fixture.path("a/b//c/"))
      #expect(fixture.status("a/b/c")?.kind == .directory)
    }
  }

  @Test("returns whether it made the last folder")
  func tells() throws {
    #expect(try FolderMaker(calls: LinuxCalls()).make(fixture.path("a/b")))
    #expect(try !FolderMaker(calls: LinuxCalls()).make(fixture.path("a/b")))
    #expect(try !FolderMaker(calls: LinuxCalls()).make(fixture.path("a")))
    #expect(try FolderMaker(calls: LinuxCalls()).make(fixture.path("a/b/c/d")))
    #expect(try !FolderMaker(calls: LinuxCalls()).make(fixture.path("a/b/c")))
  }

  @Test(
    "syncs the parents of new folders when asked to, and nothing when no folder is new"
  )
  func syncs() throws {
    let calls = FaultyCalls()
    func syncs() -> [Int] { ["a", "b", "c"].map { calls.count(of: .change(.sync), $0) } }
    try FolderMaker(calls: calls).make(fixture.path("a/b"))
    #expect(syncs() == [0, 0, 0])
    try FolderMaker(calls: calls, isSynced: true).make(fixture.path("a/b/c/d"))
    #expect(syncs() == [0, 1, 1])
    try FolderMaker(calls: calls, isSynced: true).makeLast(fixture.path("a/b/c"))
    #expect(syncs() == [0, 1, 1])
    calls.on(.change(.sync), "c", .fail(EIO))
    expectError(.unwritable) {
      try FolderMaker(calls: calls, isSynced: true).makeLast(fixture.path("a/b/c/e"))
    }
    expectError(.unwritable) {
      try FolderMaker(calls: calls, isSynced: true).make(fixture.path("a/b/c/f"))
    }
  }

  @Test("goes through links to folders")
  func links() throws {
    try fixture.folder("real")
    try fixture.symbolicLink("link", to: fixture.path("real"))
    try FolderMaker(calls: LinuxCalls()).make(fixture.path("link/below"))
    #expect(fixture.status("real/below")?.kind == .directory)
  }

  @Test("names the entry that is in the way")
  func inTheWay() throws {
    try fixture.file("a/file", "x")
    let error = #expect(throws: BatchError.self) {
      try FolderMaker(calls: LinuxCalls()).make(fixture.path("a/file/b/c"))
    }
    #expect(error?.code == .unwritable)
    #expect(error?.path.map { fixture.relative($0) } == "a/file")
    try fixture.symbolicLink("a/dangling", to: "nowhere")
    expectError(.unwritable) { try FolderMaker(calls: LinuxCalls()).make(fixture.path("a/dangling")) }
  }

  @Test("makes one folder from many threads at once")
  func together() async throws {
    let fixture = fixture
    let start = Rendezvous(8)
    let failures = Recorder<BatchError>()
    try await onThreads(8) { _ in
      start.arrive()
      do throws(BatchError) {
        for place in 0..<50 {
          try FolderMaker(calls: LinuxCalls()).make(fixture.path(PathBytes("d\(place)/e/f")))
        }
      } catch {
        failures.record(error)
      }
    }
    #expect(failures.values.isEmpty)
    #expect(fixture.exists("d49/e/f"))
  }
}
