import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("A file that is being unpacked")
final class ExtractedFileTests {
  private let temporary: TreeFixture
  private let folder: ExtractionFolder
  private let root: Descriptor
  private let registry = AtomicFileRegistry()
  private var files: StagedFiles?

  init() throws {
    temporary = try TreeFixture()
    folder = try ExtractionFolder(temporary.root)
    root = try folder.open([], creating: false)
    files = StagedFiles(below: folder, registry: registry)
  }

  private func stage(_ text: String) throws -> TemporaryName {
    let file = try ExtractedFile(in: root.raw, [], among: try #require(files))
    try withBytes(of: Array(text.utf8)) { (raw) throws(BatchError) in try file.write(raw, at: 0) }
    return try file.stage(in: [], losses: []).name
  }

  private func make(_ text: String, as name: PathBytes, replacing: Bool = false) throws {
    let staged = try stage(text)
    #expect(temporary.exists(PathBytes(staged.bytes)))
    try ExtractedFile.rename(staged, in: root.raw, to: name, in: root.raw, replacing: replacing)
  }

  @Test("has its name when it is complete")
  func published() throws {
    try make("one", as: "new")
    files = nil
    #expect(temporary.text("new") == "one")
    #expect(temporary.names() == ["new"])
  }

  @Test("without a name leaves nothing behind, and takes no name that is taken")
  func unnamed() throws {
    for _ in 0..<2 {
      guard let file = try ExtractedFile.unnamed(in: root.raw, permissions: 0o640) else {
        Issue.record("no file without a name")
        return
      }
      #expect(temporary.names().allSatisfy { $0 == "new" })
      let isTaken = temporary.exists("new")
      do throws(BatchError) {
        let temporary = try file.link(as: "new", in: root.raw, [], among: nil)
        #expect(!isTaken && temporary == nil)
      } catch {
        #expect(isTaken && error.code == .invalid)
      }
    }
    #expect(temporary.names() == ["new"])
  }

  @Test("gets a temporary name where its name was taken meanwhile and may be replaced")
  func takenMeanwhile() throws {
    try temporary.file("new", "old")
    guard let file = try ExtractedFile.unnamed(in: root.raw, permissions: 0o640) else {
      Issue.record("no file without a name")
      return
    }
    let linked = try file.link(as: "new", in: root.raw, [], among: files)
    let name = try #require(linked)
    #expect(temporary.text("new") == "old" && temporary.exists(PathBytes(name.bytes)))
    files = nil
    #expect(temporary.names() == ["new"])
  }

  @Test("leaves nothing behind when its chunk is dropped, also in folders below")
  func dropped() throws {
    let below = Array("a/b".utf8)[...]
    let deep = try folder.open(below, creating: true)
    let file = try ExtractedFile(in: deep.raw, below, among: try #require(files))
    try file.setSize(10)
    _ = try file.stage(in: below, losses: [])
    _ = try stage("x")
    #expect(temporary.names().count == 2 && temporary.names(in: "a/b").count == 1)
    files = nil
    #expect(temporary.names() == ["a"] && temporary.names(in: "a/b").isEmpty)
  }

  @Test("is removed by a signal, after which none is made")
  func signal() throws {
    _ = try stage("x")
    registry.removeAll()
    #expect(temporary.names().isEmpty)
    #expect(throws: BatchError.self) { try stage("x") }
    files = StagedFiles(below: folder, registry: registry)
    #expect(throws: BatchError.self) { try stage("x") }
    #expect(temporary.names().isEmpty)
  }

  @Test("leaves what exists, and replaces it when told to")
  func replacing() throws {
    try temporary.file("f", "old")
    #expect(throws: BatchError.self) { try make("x", as: "f") }
    #expect(temporary.text("f") == "old")
    try make("x", as: "f", replacing: true)
    #expect(temporary.text("f") == "x")
    try temporary.folder("d")
    #expect(throws: BatchError.self) { try make("x", as: "d", replacing: true) }
    files = nil
    #expect(temporary.names() == ["d", "f"])
  }
}
