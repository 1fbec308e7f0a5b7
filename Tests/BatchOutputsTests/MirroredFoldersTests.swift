import Dispatch
import TestSupport
import Testing

@testable import BatchEngine
@testable import BatchOutputs

@Suite("Folders that outputs are mirrored into", .timeLimit(.minutes(1)))
struct MirroredFoldersTests {
  private let fixture: TreeFixture
  private let calls = FaultyCalls()
  private let folders: OutputFolders

  init() throws {
    fixture = try TreeFixture()
    for name in ["t/a/file", "t/b/file", "t/c/file"] as [PathBytes] { try fixture.file(name, "text") }
    try fixture.folder("out")
    folders = OutputFolders(
      mirroredInto: fixture.path("out"), isSynced: true, kept: 0,
      opener: FolderOpener(calls: calls, holding: HeldFolders(limit: 4)))
  }

  private func target(_ source: PathBytes) throws -> FileIdentity? {
    try folders.prepared(for: fixture.record(source)).target?.identity
  }

  @Test(
    "only outputs in a folder wait while it is made or synced",
    arguments: [FileChange.makeFolder, .sync])
  func waits(change: FileChange) throws {
    _ = try target("t/c/file")
    let (isAtIt, mayGoOn, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchGroup())
    // The name of the first folder is synced with the folder above it.
    let name: PathBytes = change == .sync ? "t" : "a"
    let turn = calls.count(of: .change(change), name) + 1
    calls.on(
      .change(change), name, turns: turn...turn,
      .before {
        isAtIt.signal()
        mayGoOn.wait()
      })
    let found = Recorder<FileIdentity?>()
    for _ in 0..<2 {
      DispatchQueue.global().async(group: end) { found.record(try? target("t/a/file")) }
    }
    isAtIt.wait()
    #expect(try target("t/b/file") != nil)
    #expect(found.values.isEmpty)
    mayGoOn.signal()
    end.wait()
    #expect(found.values.count == 2 && found.values[0] != nil && found.values[0] == found.values[1])
    #expect(calls.count(of: .change(.makeFolder), "a") == 1)
  }

  @Test("no output is written to a folder that was replaced")
  func replaced() throws {
    _ = try target("t/a/file")
    let place = PathBytes(Array("out".utf8) + fixture.path("t/a").bytes)
    try fixture.rename(place, to: "aside")
    try fixture.folder(place)
    #expect { _ = try target("t/a/file") } throws: { ($0 as? BatchError)?.code == .unwritable }
  }
}
