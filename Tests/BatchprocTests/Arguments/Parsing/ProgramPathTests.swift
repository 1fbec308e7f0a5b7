import BatchEngine
import TestSupport
import Testing

@testable import batchproc

@Suite struct ProgramPathTests {
  private let t: TreeFixture
  /// The file of this process.
  private let file: PathBytes

  init() throws {
    t = try TreeFixture()
    file = try PathBytes("/proc/self/exe").resolved()
    try t.folder("bin")
    try t.symbolicLink("bin/tool", to: file)
    try t.file("other/tool", "another program")
  }

  @Test("a link to the program stays a link, whether it was typed or found in PATH")
  func links() throws {
    let path = PathBytes(t.path("other").bytes + [UInt8(ascii: ":")] + t.path("bin").bytes)
    #expect(try ProcessArguments.program(typed: t.path("bin/tool")) { _ in nil } == t.path("bin/tool"))
    #expect(try ProcessArguments.program(typed: "tool") { $0 == "PATH" ? path : nil } == t.path("bin/tool"))
  }

  @Test(
    "a name that leads to another file, or to none, is not used", arguments: ["tool", "other/tool", "none"])
  func others(name: String) throws {
    let typed = name.contains("/") ? t.path(PathBytes(name)) : PathBytes(name)
    #expect(try ProcessArguments.program(typed: typed) { _ in t.path("other") } == file)
  }
}
