import Glibc
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("A file that is being unpacked")
final class ExtractedFileTests {
  private let temporary: TemporaryFolder
  private let folder: Descriptor

  init() throws {
    temporary = try TemporaryFolder()
    folder = try ExtractionFolder(temporary.path).open([], creating: false)
  }

  private func make(_ text: String, as name: PathBytes, replacing: Bool = false) throws {
    let file = try ExtractedFile(in: folder.raw)
    try withBytes(of: Array(text.utf8)) { (raw) throws(BatchError) in try file.write(raw, at: 0) }
    #expect(try temporary.names().allSatisfy { !$0.hasPrefix("new") })
    try file.publish(as: name, replacing: replacing)
  }

  @Test("has its name when it is complete")
  func published() throws {
    try make("one", as: "new")
    #expect(try temporary.read("new") == "one")
    #expect(try temporary.names() == ["new"])
  }

  @Test("leaves nothing behind when it is let go of")
  func dropped() throws {
    let file = try ExtractedFile(in: folder.raw)
    try file.setSize(10)
    _ = consume file
    #expect(try temporary.names().isEmpty)
  }

  @Test("leaves what exists, and replaces it when told to")
  func replacing() throws {
    _ = try temporary.write("f", "old")
    #expect(throws: BatchError.self) { try make("x", as: "f") }
    #expect(try temporary.read("f") == "old")
    try make("x", as: "f", replacing: true)
    #expect(try temporary.read("f") == "x")
    try temporary.makeFolder("d")
    #expect(throws: BatchError.self) { try make("x", as: "d", replacing: true) }
    #expect(try temporary.names() == ["d", "f"])
  }
}
