import TestSupport
import Testing

@testable import BatchEngine

@Suite("A list of paths")
struct PathListTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  /// The paths that are read, and the error that cancelled the run.
  private func read(_ name: PathBytes, isNULEnded: Bool = false) -> (paths: [PathBytes], error: BatchError?) {
    let run = RunContext()
    let paths = Array(
      PathList(t.path(name), isNULEnded: isNULEnded, cancellation: run.cancellation, calls: run.calls))
    do {
      try run.cancellation.check()
      return (paths, nil)
    } catch {
      return (paths, error)
    }
  }

  @Test("has one path per line, or one before each NUL, also when a buffer ends within a path")
  func paths() throws {
    let long = PathBytes([UInt8](repeating: UInt8(ascii: "x"), count: 4000))
    let expected = (0..<100).map { PathBytes("\($0)/").appending(long.bytes) }
    for (isNULEnded, end) in [(false, UInt8(ascii: "\n")), (true, 0)] {
      try t.file("list", Array(expected.map(\.bytes).joined(separator: [end])))
      let read = read("list", isNULEnded: isNULEnded)
      #expect(read.paths == expected && read.error == nil)
    }
    try t.file("list", "a\n\n\nb c\n")
    #expect(read("list").paths == ["a", "b c"])
    try t.file("list", "a\n\0\0b")
    #expect(read("list", isNULEnded: true).paths == [PathBytes("a\n"), "", "b"])
  }

  @Test("ends the run when it contains an invalid path or cannot be read")
  func errors() throws {
    try t.file("list", Array("a\n".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 2 << 20))
    let long = read("list")
    #expect(long.paths == ["a"] && long.error?.code == .malformed && long.error?.path == t.path("list"))
    #expect(long.error?.remedy == .readListWithNUL)
    let missing = read("none")
    #expect(
      missing.paths.isEmpty && missing.error?.path == t.path("none") && missing.error?.isNotFound == true)
    try t.folder("folder")
    let folder = read("folder")
    #expect(folder.paths.isEmpty && folder.error?.path == t.path("folder"))
  }
}
