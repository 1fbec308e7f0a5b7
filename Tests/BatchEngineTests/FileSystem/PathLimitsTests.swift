import TestSupport
import Testing

@testable import BatchEngine

@Suite("How deep folders may lie, and how long their paths may be")
struct PathLimitsTests {
  @Test("a path may have 64 KiB, and 16 bytes more for each level above 4,096")
  func lengths() {
    #expect(PathLimits().levels == 4096 && PathLimits().length == 65_536)
    #expect(PathLimits(levels: 10).length == 65_536)
    #expect(PathLimits(levels: 10_000).length == 160_000)
    #expect(PathLimits(levels: 0).levels == 1 && PathLimits(levels: .max).levels == PathLimits.mostLevels)
  }

  @Test("the first folder of a path that exceeds a limit is found")
  func excess() {
    let limits = PathLimits(levels: 3)
    func first(_ path: String) -> String? {
      limits.excess(of: Array(path.utf8)[...]).map { String(decoding: $0.folder, as: UTF8.self) }
    }
    #expect(first("") == nil && first("a/b/c") == nil && first("aaaaaaaaaa/b/c") == nil)
    #expect(first("a/b/c/d") == "a/b/c/d" && first("a/b/c/d/e/f") == "a/b/c/d")
    let long = String(repeating: "n", count: 65_530)
    #expect(first(long + "/12345") == nil && first(long + "/123456/7") == long + "/123456")
  }

  @Test("names are counted without dots and empty ones, as archives store them")
  func names() {
    for (path, count) in [("", 0), ("a", 1), ("a/", 1), ("/a//b/./c/", 3), ("./.", 0), ("..", 1), (".x", 1)] {
      #expect(PathLimits.names(in: Array(path.utf8)[...]) == count, "\(path)")
    }
  }

  @Test("a walk names a folder that lies too deep, and reads nothing below it", arguments: [0, 8])
  func walk(readAhead: Int) throws {
    let fixture = try TreeFixture()
    try fixture.folder("1/2/3/4/5")
    for path in ["f", "1/2/3/f", "1/2/3/4/f", "1/2/3/4/5/f"] { try fixture.file(PathBytes(path), "x") }
    try fixture.folder("1/2/other/deep")
    let own = PathLimits.names(in: fixture.root.bytes[...])
    var options = WalkOptions()
    options.readAhead = readAhead
    options.limits = PathLimits(levels: own + 3)
    var walker = TreeWalker(
      operands: [fixture.root, fixture.path("1/2/3/4/5/f")], options: options,
      descriptors: DescriptorBudget(capacity: 4), calls: LinuxCalls())
    var found = [String]()
    while let item = walker.next() {
      switch item {
      case .item(.file(let record)): found.append("\(record.path)")
      case .problem(let problem): found.append("\(problem.event) \(problem.error.path?.description ?? "")")
      case .item(.standardInput): break
      }
    }
    let root = fixture.root.description
    #expect(
      found == [
        "\(root)/f", "\(root)/1/2/3/f", "unreadable \(root)/1/2/3/4", "unreadable \(root)/1/2/other/deep",
        "unreadable \(root)/1/2/3/4/5/f",
      ])
  }
}
