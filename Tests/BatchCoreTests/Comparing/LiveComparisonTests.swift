import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

@Suite("The comparison of a record with a folder")
struct LiveComparisonTests {
  private let fixture: TreeFixture
  private let run = RunContext()
  private let live: LiveTree

  init() throws {
    fixture = try TreeFixture()
    try fixture.file("dir/file", "content")
    try fixture.symbolicLink("link", to: "dir/file")
    try fixture.symbolicLink("way", to: "dir")
    live = try LiveTree(fixture.root, options: WalkOptions(), in: SourceContext(run))
  }

  /// A record of a path as it is now.
  private func record(_ path: PathBytes, _ algorithm: DigestAlgorithm = .sha256) throws -> RecordedPath {
    let found = try #require(try live.look(at: RelativePath(path), withAttributes: true))
    var record = RecordedPath(path, found.status.kind)
    record.size = UInt64(found.status.size)
    record.modified = found.status.modified
    record.mode = found.status.mode & 0o7777
    record.owner = RecordedPath.Owner(number: found.status.owner)
    record.group = RecordedPath.Owner(number: found.status.group)
    record.linkTarget = found.target
    record.attributes = found.attributes
    if found.status.kind == .regular {
      let stream = try DigestStream(algorithm)
      let content = try #require(fixture.content(path))
      record.digest = try content.withUnsafeBytes { try stream.digest(of: $0) }
    }
    return record
  }

  private func compare(_ record: RecordedPath, reportsRot: Bool = false) throws -> Difference? {
    let context = WorkerContext(lane: Lane(run: run), run: run)
    let outcome = try LiveComparison(live, reportsRot: reportsRot).compare(record, in: context)
    guard case .compared(let difference) = outcome else {
      Issue.record("not compared: \(context.problems)")
      return nil
    }
    return difference
  }

  @Test("finds no difference when nothing changed", arguments: [DigestAlgorithm.sha256, .md5, .xxh128])
  func same(algorithm: DigestAlgorithm) throws {
    for path in ["dir/file", "./dir//file", "dir", "link", ""] as [PathBytes] {
      #expect(try compare(try record(path, algorithm)) == nil, "\(path)")
    }
  }

  @Test("reports a path as missing when it does not exist or lies behind a link")
  func missing() throws {
    let file = try record("dir/file")
    for path in ["gone", "gone/file", "way/file", "dir/file/x"] as [PathBytes] {
      var record = RecordedPath(path, .regular)
      record.digest = file.digest
      #expect(try compare(record) == Difference(.missing), "\(path)")
    }
  }

  @Test("reports other bytes with the recorded size and time as rot when asked to")
  func rot() throws {
    try fixture.setModified("dir/file", seconds: 1000)
    let file = try record("dir/file")
    try fixture.file("dir/file", "Content")
    try fixture.setModified("dir/file", seconds: 1000)
    let plain = try #require(try compare(file))
    let rot = try #require(try compare(file, reportsRot: true))
    #expect(plain.kind == .modified && rot.kind == .rot)
    #expect(rot.aspects.map(\.name) == [.content])
    // Without a recorded time, rot and a change cannot be distinguished.
    var timeless = file
    timeless.modified = nil
    #expect(try compare(timeless, reportsRot: true)?.kind == .modified)
    // A file with another time or size was changed, so it is not rot.
    try fixture.setModified("dir/file", seconds: 2000)
    #expect(try compare(file, reportsRot: true)?.aspects.map(\.name) == [.content, .mtime])
    try fixture.file("dir/file", "longer content")
    try fixture.setModified("dir/file", seconds: 1000)
    #expect(try compare(file, reportsRot: true)?.kind == .modified)
  }

  @Test("distinguishes a touch from a change of metadata, and compares only recorded fields")
  func metadata() throws {
    let (file, folder, link) = (try record("dir/file"), try record("dir"), try record("link"))
    try fixture.setModified("dir/file", seconds: 1000)
    #expect(try compare(file)?.kind == .touched)
    try fixture.setMode("dir/file", 0o640)
    #expect(try compare(file)?.aspects.map(\.name) == [.mode, .mtime])
    #expect(try compare(file)?.kind == .metadata)
    try fixture.setModified("dir", seconds: 1000)
    #expect(try compare(folder)?.kind == .metadata)
    try fixture.remove("link")
    try fixture.symbolicLink("link", to: "elsewhere")
    #expect(try compare(link)?.aspects.first?.name == .target)
    var bare = RecordedPath("dir/file", .regular)
    bare.digest = file.digest
    #expect(try compare(bare) == nil)
    #expect(try compare(RecordedPath("dir", .directory)) == nil)
    #expect(try compare(RecordedPath("dir", .regular))?.kind == .type)
  }

  @Test("reports a further name that became a separate file with its digest")
  func separate() throws {
    try fixture.file("first", "content")
    try fixture.hardLink("further", to: "first")
    var link = RecordedPath("further", .regular)
    link.isHardLink = true
    link.linkTarget = "first"
    #expect(try compare(link) == nil)
    try fixture.remove("further")
    try fixture.file("further", "content")
    let context = WorkerContext(lane: Lane(run: run), run: run)
    guard
      case .separate(let aspect, let target, let content) = try LiveComparison(live).compare(
        link, in: context)
    else {
      Issue.record("the file is not reported as separate")
      return
    }
    #expect(aspect.name == .target && target.bytes == Array("first".utf8))
    var digests = RecordedDigests()
    digests.add("./first", try record("first").digest)
    #expect(digests.isContent(content, of: target) == true)
    try fixture.remove("further")
    #expect(try compare(link) == Difference(.missing))
  }

  @Test("finds new paths in recorded directories only")
  func newPaths() throws {
    try fixture.file("dir/sub/new", "new")
    try fixture.file("other/new", "new")
    var places = RecordedPlaces()
    places.add("./dir", isDirectory: true)
    places.add("./dir/sub", isDirectory: true)
    places.add("dir/file", isDirectory: false)
    places.add("way", isDirectory: true)
    var paths = NewPaths(live, places)
    var found: [PathBytes] = []
    while let item = paths.next() {
      guard case .item((let path, let record)) = item else { continue }
      found.append(path)
      #expect(record.status.size == 3)
    }
    #expect(found == ["./dir/sub/new"])
  }
}
