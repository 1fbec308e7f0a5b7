import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("Steps of an extraction that wait for the end")
struct DeferredStepsTests {
  private func order(_ path: PathBytes, _ kind: ArchiveEntry.Kind, to target: PathBytes? = nil) throws
    -> ExtractionOrder
  {
    var order = ExtractionOrder(
      entry: ArchiveEntry(path: path, kind: kind, mode: 0o711, linkTarget: target),
      place: try RelativePath(path))
    if kind == .hardLink {
      order.linkPlace = try target.map { (path) throws(BatchError) in try RelativePath(path) }
    }
    return order
  }

  @Test("are read back as they were stored", arguments: ["a/b", "./a/b", "/a/b", "b", "a/./b", "a/b/c"])
  func same(path: PathBytes) throws {
    var steps = DeferredSteps()
    let given = [
      DeferredStep(.folder, try order(path, .directory)),
      DeferredStep(.symbolicLink, try order(path, .symbolicLink, to: "../x")),
      DeferredStep(.hardLink, try order(path, .hardLink, to: "first/name")),
    ]
    for step in given { steps.append(step) }
    for (number, step) in given.enumerated() {
      let found = try #require(steps.step(number))
      #expect(found.kind == step.kind && found.order.entry.path == path)
      #expect(found.order.place.bytes == step.order.place.bytes && found.order.entry.mode == 0o711)
      #expect(found.order.linkPlace?.bytes == step.order.linkPlace?.bytes)
    }
    #expect(steps.step(1)?.order.entry.linkTarget == "../x")
  }

  @Test("for a place, and for links that lead to it, are removed once")
  func take() throws {
    var steps = DeferredSteps([
      DeferredStep(.folder, try order("a", .directory)),
      DeferredStep(.symbolicLink, try order("a/l", .symbolicLink, to: "x")),
      DeferredStep(.hardLink, try order("h", .hardLink, to: "a/l")),
    ])
    let place = try RelativePath("a/l")
    #expect(steps.take(of: place) { !$0.isFolder }.map(\.order.entry.path) == ["a/l", "h"])
    #expect(steps.take(of: place) { _ in true }.isEmpty)
    var rest = [PathBytes]()
    let all = steps.takeAll()
    for kind in [DeferredStep.Kind.symbolicLink, .hardLink, .folder] {
      try all.forEach(kind) { rest.append($0.entry.path) }
    }
    #expect(rest == ["a"] && steps.step(0) == nil)
  }

  @Test("store each folder's name once, so that 2,000 nested folders need little memory")
  func memory() throws {
    var steps = DeferredSteps()
    var path = [UInt8]()
    for _ in 0..<2000 {
      path += Array((path.isEmpty ? "d" : "/d").utf8)
      steps.append(DeferredStep(.folder, try order(PathBytes(path), .directory)))
    }
    #expect(steps.folders.count == 2001)
    #expect(steps.step(1999)?.order.entry.path == PathBytes(path))
    #expect((1...2000).allSatisfy { steps.folders.name(of: FolderTree.Node($0)) == Array("d".utf8) })
  }
}
