import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("A file that is being unpacked")
final class ExtractedFileTests {
  private let temporary: TreeFixture
  private let folder: Descriptor

  init() throws {
    temporary = try TreeFixture()
    folder = try ExtractionFolder(temporary.root).open([], creating: false)
  }

  private func make(_ text: String, as name: PathBytes, replacing: Bool = false) throws {
    let file = try ExtractedFile(in: folder.raw)
    try withBytes(of: Array(text.utf8)) { (raw) throws(BatchError) in try file.write(raw, at: 0) }
    #expect(temporary.names().allSatisfy { !$0.bytes.starts(with: "new".utf8) })
    try file.publish(as: name, replacing: replacing)
  }

  @Test("has its name when it is complete")
  func published() throws {
    try make("one", as: "new")
    #expect(temporary.text("new") == "one")
    #expect(temporary.names() == ["new"])
  }

  @Test("leaves nothing behind when it is let go of")
  func dropped() throws {
    let file = try ExtractedFile(in: folder.raw)
    try file.setSize(10)
    _ = consume file
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
    #expect(temporary.names() == ["d", "f"])
  }
}
