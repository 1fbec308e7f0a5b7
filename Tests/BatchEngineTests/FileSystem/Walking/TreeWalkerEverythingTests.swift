import TestSupport
import Testing

@testable import BatchEngine

/// Walks that yield folders, links, FIFOs and devices too.
@Suite struct TreeWalkerEverythingTests {
  private let fixture: TreeFixture

  init() throws { fixture = try TreeFixture() }

  private func walk(
    _ operands: [PathBytes]? = nil, _ change: (inout WalkOptions) -> Void = { _ in }
  ) -> [String] {
    var options = WalkOptions()
    options.takesEverything = true
    change(&options)
    var tree = BatchRunner().tree(operands ?? [fixture.root], options: options)
    var found: [String] = []
    while let item = tree.next() {
      switch item {
      case .item(.file(let record)): found.append("\(fixture.relative(record.path)) \(record.status.kind)")
      case .item(.standardInput): found.append("-")
      case .problem(let problem):
        found.append("\(problem.event) \(fixture.relative(problem.error.path ?? "none"))")
      }
    }
    return found
  }

  @Test(arguments: [0, 4]) func yieldsAFolderBeforeItsEntries(readAhead: Int) throws {
    try fixture.file("b/file", "")
    try fixture.folder("a/empty")
    try fixture.file("z", "")
    let expected = [
      " directory", "z regular", "a/ directory", "a/empty/ directory", "b/ directory", "b/file regular",
    ]
    #expect(walk { $0.readAhead = readAhead } == expected)
  }

  @Test func yieldsLinksAndFIFOsInTheirPlaceAndNoSockets() throws {
    try fixture.symbolicLink("a", to: "nowhere")
    try fixture.file("b", "")
    try fixture.fifo("c")
    try fixture.socket("d")
    try fixture.symbolicLink("e", to: ".")
    #expect(walk() == [" directory", "a symbolicLink", "b regular", "c fifo", "special d", "e symbolicLink"])
  }

  @Test func yieldsOperandsOfAllKinds() throws {
    try fixture.file("d/file", "")
    try fixture.symbolicLink("link", to: "d")
    try fixture.fifo("p")
    let operands = ["link", "link/", "p"].map { fixture.path(PathBytes($0)) }
    #expect(walk(operands) == ["link symbolicLink", "link/ directory", "link/file regular", "p fifo"])
  }

  @Test func followsLinksWhenAsked() throws {
    try fixture.file("d/file", "12")
    try fixture.symbolicLink("nowhere", to: "gone")
    try fixture.symbolicLink("to-file", to: "d/file")
    try fixture.symbolicLink("to-folder", to: "d")
    let found = walk { $0.followsLinks = true }
    #expect(
      found == [
        " directory", "nowhere symbolicLink", "to-file regular", "d/ directory", "d/file regular",
        "to-folder/ directory", "to-folder/file regular",
      ])
  }

  @Test func leavesOutExcludedEntries() throws {
    try fixture.file("a/x.tmp", "")
    try fixture.file("cache/x", "")
    try fixture.fifo("p.tmp")
    let filter = try PathFilter(rules: [.exclude(Array("*.tmp".utf8)), .exclude(Array("cache".utf8))])
    #expect(walk { $0.filter = filter } == [" directory", "a/ directory"])
  }

  @Test func yieldsOnlyFilesByDefault() throws {
    try fixture.fifo("a/p")
    try fixture.file("a/f", "")
    #expect(walk { $0.takesEverything = false } == ["a/f regular", "special a/p"])
  }
}
