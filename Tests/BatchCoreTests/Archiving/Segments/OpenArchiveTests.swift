import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("An archive that is opened by its index, else as a stream")
struct OpenArchiveTests {
  private let folder: TreeFixture
  private let run = RunContext()

  init() throws { folder = try TreeFixture() }

  @Test("is opened by its name in an open folder, after the path of the folder was changed")
  func belowFolder() throws {
    try folder.file("set/archive", "in the folder")
    let opened = try run.folders.open(folder.path("set"), followingLast: false)
    try folder.rename("set", to: "moved")
    try folder.file("set/archive", "elsewhere")
    let file = try ArchiveFile(folder.path("set/archive"), below: opened.raw, in: SourceContext(run))
    #expect(try file.bytes(at: 0, count: 13) == Array("in the folder".utf8))
    #expect(file.path == folder.path("set/archive"))
    try folder.remove("moved/archive")
    #expect {
      try ArchiveFile(folder.path("set/archive"), below: opened.raw, in: SourceContext(run))
    } throws: { error in
      (error as? BatchError)?.path == folder.path("set/archive")
    }
  }

  @Test("without an index is read from its beginning, without a remark")
  func withoutIndex() throws {
    let file = try ArchiveFile(
      folder.file("archive", [UInt8](repeating: 0, count: 10_240)), in: SourceContext(run))
    let open = try OpenArchive(file, checks: true, memory: 1 << 20, by: ReadingRight())
    #expect(open.index == nil && open.unusedIndex == nil && open.remarks.isEmpty)
    #expect(try open.reader(limits: ArchiveLimits()).next() == nil)
  }
}
