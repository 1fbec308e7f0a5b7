import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct ArchiveSourceTests {
  private let fixture: TreeFixture

  init() throws { fixture = try TreeFixture() }

  private func items(_ format: String = "tar.gz") throws -> [String] {
    var walk = WalkOptions()
    walk.takesEverything = true
    let options = ArchiveOptions(format: try #require(ArchiveFormat(named: format)))
    var source = try ArchiveSource(BatchRunner().tree([fixture.root], options: walk), options: options)
    var found: [String] = []
    while let item = source.next() {
      switch item {
      case .item(.member(let record, _)): found.append("\(fixture.relative(record.path))")
      case .item(.link(let record, let first)):
        found.append("\(fixture.relative(record.path)) -> \(fixture.relative(first))")
      case .item(.header(let member)):
        found.append("\(fixture.relative(member.record.path)): \(member.blockCount)")
      case .item(.block(_, let index)): found.append("\(index)")
      case .problem(let problem): found.append("\(problem.event)")
      }
    }
    return found
  }

  @Test func givesLargeFilesBlockByBlock() throws {
    try fixture.file("a", size: (2 << 20) - 1)
    try fixture.file("b", size: 2 << 20)
    try fixture.file("c", size: (2 << 20) + 1)
    #expect(try items() == ["", "a", "b: 2", "0", "1", "c: 3", "0", "1", "2"])
  }

  @Test func givesAFileOnceAndItsOtherNamesAsLinks() throws {
    try fixture.file("b", "x")
    try fixture.folder("d")
    try fixture.hardLink("d/a", to: "b")
    try fixture.hardLink("c", to: "b")
    #expect(try items() == ["", "b", "c -> b", "d/", "d/a -> b"])
    #expect(try items("zip") == ["", "b", "c", "d/", "d/a"])
  }

  @Test func weighsAnItemByTheBytesToRead() throws {
    try fixture.file("a", "12345")
    try fixture.folder("d")
    var walk = WalkOptions()
    walk.takesEverything = true
    let options = ArchiveOptions(format: try #require(ArchiveFormat(named: "tar")))
    var source = try ArchiveSource(BatchRunner().tree([fixture.root], options: walk), options: options)
    var weights: [Int64] = []
    while case .item(let item)? = source.next() { weights.append(source.weight(of: item)) }
    #expect(weights == [0, 5, 0])
  }

  @Test func countsHeadersAndBothFormsOfABlockAsMemory() throws {
    try fixture.file("a", "12345")
    try fixture.hardLink("b", to: "a")
    try fixture.file("c", size: 2 << 20)
    var walk = WalkOptions()
    walk.takesEverything = true
    let options = ArchiveOptions(format: try #require(ArchiveFormat(named: "tar.gz")))
    var source = try ArchiveSource(BatchRunner().tree([fixture.root], options: walk), options: options)
    var retained: [Int64] = []
    while case .item(let item)? = source.next() { retained.append(source.retained(by: item)) }
    // The folder, the file, its other name, and the header and two blocks of a large file.
    #expect(retained.count == 6)
    #expect(retained.prefix(4).allSatisfy { (1536..<8192).contains($0) }, "\(retained)")
    #expect(retained.suffix(2) == [2 << 20, 2 << 20])
  }
}
