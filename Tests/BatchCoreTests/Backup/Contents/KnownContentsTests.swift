import BatchEngine
import BatchOutputs
import TestSupport
import Testing

@testable import BatchCore

@Suite("The contents that the previous snapshot has")
struct KnownContentsTests {
  private let t: TreeFixture
  private let run = RunContext()
  private static let archive = "20261120T020000Z"

  init() throws {
    t = try TreeFixture()
  }

  private func digest(_ number: UInt8) throws -> Digest {
    try #require(Digest(.sha256, bytes: [UInt8](repeating: number, count: 32)))
  }

  private func row(
    _ path: PathBytes, content: UInt8 = 1, size: UInt64 = 10, inode: UInt64, attributes: UInt8? = nil,
    archive: String = archive
  ) throws -> SnapshotEntry {
    var entry = SnapshotEntry.blank
    (entry.path, entry.size, entry.inode, entry.archive) = (path, size, inode, archive)
    (entry.digest, entry.attributes, entry.linkCount) = (try digest(content), try attributes.map(digest), 1)
    return entry
  }

  /// The contents of a manifest with these rows.
  private func contents(
    _ rows: [SnapshotEntry], in unwanted: Set<String> = []
  ) throws -> KnownContents {
    let name = SnapshotName(set: "s", stamp: Self.archive)
    let file = try OutputFile(t.path(name.manifest), isReplacing: true, isSynced: false, in: run)
    let writer = try SnapshotWriter(
      SnapshotHeader(name: name, sequence: 1, started: .init(seconds: 1, nanoseconds: 0), increment: 0),
      to: file)
    try writer.begin(SnapshotSource(path: "/s", fileSystem: "1"))
    for row in rows { try writer.append(row) }
    try writer.finish(archiveSize: 1, index: nil, isVerified: false, selection: "")
    try file.finish()
    return KnownContents(
      [ManifestFile(t.path(name.manifest))], without: DamagedRows(), in: unwanted,
      SourceContext(run))
  }

  @Test("are found by size, digest and attributes, all of which must be equal")
  func equality() throws {
    let known = try contents([
      row("a", inode: 1), row("b", inode: 2, attributes: 9), row("c", content: 2, size: 20, inode: 3),
    ])
    #expect(try known.row(size: 10, digest: digest(1), attributes: nil, inode: 50)?.path == "a")
    #expect(try known.row(size: 10, digest: digest(1), attributes: digest(9), inode: 50)?.path == "b")
    #expect(try known.row(size: 20, digest: digest(2), attributes: nil, inode: 50)?.path == "c")
    #expect(try known.row(size: 11, digest: digest(1), attributes: nil, inode: 1) == nil)
    #expect(try known.row(size: 10, digest: digest(3), attributes: nil, inode: 1) == nil)
    #expect(try known.row(size: 10, digest: digest(1), attributes: digest(8), inode: 1) == nil)
    #expect(try known.row(size: 20, digest: digest(2), attributes: digest(9), inode: 3) == nil)
  }

  @Test("of the file with the same inode come first")
  func inodes() throws {
    // Of an inode only some bits are in the table.
    let inodes: [UInt64] = [4, 9, 1 << 30, 1 << 30 + 4, .max]
    let known = try contents(inodes.enumerated().map { try row(PathBytes("f\($0)"), inode: $1) })
    for (index, inode) in inodes.enumerated() {
      let found = try known.row(size: 10, digest: digest(1), attributes: nil, inode: inode)
      #expect(found.map { $0.inode & 0xff_ffff } == inode & 0xff_ffff, "\(index)")
    }
    for inode: UInt64 in [0, 7, 10, 1 << 23] {
      #expect(try known.row(size: 10, digest: digest(1), attributes: nil, inode: inode) != nil)
    }
  }

  @Test("of many equal files are found for each inode of them")
  func equalFiles() throws {
    let known = try contents((0..<100).map { try row(PathBytes("f\($0)"), inode: UInt64(1000 + $0)) })
    for inode in UInt64(1000)..<1100 {
      let found = try known.row(size: 10, digest: digest(1), attributes: nil, inode: inode)
      #expect(found?.inode == inode)
    }
  }

  @Test("of empty files, of files without a digest, of other kinds, and of unwanted archives are not known")
  func excluded() throws {
    var holes = try row("holes", content: 2, inode: 2)
    holes.digest = nil
    var folder = SnapshotEntry(kind: .directory, path: "d", archive: Self.archive)
    folder.size = 10
    let known = try contents(
      [
        row("empty", size: 0, inode: 1), holes, folder,
        row("unwanted", content: 3, inode: 4, archive: "20261119T020000Z"), row("last", content: 4, inode: 5),
      ], in: ["20261119T020000Z"])
    #expect(try known.row(size: 0, digest: digest(1), attributes: nil, inode: 1) == nil)
    #expect(try known.row(size: 10, digest: digest(2), attributes: nil, inode: 2) == nil)
    #expect(try known.row(size: 10, digest: digest(3), attributes: nil, inode: 4) == nil)
    #expect(try known.row(size: 10, digest: digest(4), attributes: nil, inode: 5)?.path == "last")
  }

  @Test("rows with long and odd names are found, and rows that refer to other members")
  func rows() throws {
    var reference = try row("new", content: 2, inode: 2)
    (reference.userName, reference.groupName, reference.member) = ("u", "g", "old")
    let long = PathBytes(Array("a/".utf8) + [UInt8](repeating: 0x6e, count: 9000))
    let known = try contents([
      row(long, inode: 1), reference, row(PathBytes([0xff, 0x0a]), content: 3, inode: 3),
    ])
    #expect(try known.row(size: 10, digest: digest(1), attributes: nil, inode: 1)?.path == long)
    #expect(try known.row(size: 10, digest: digest(2), attributes: nil, inode: 2)?.contentName == "old")
    #expect(
      try known.row(size: 10, digest: digest(3), attributes: nil, inode: 3)?.path == PathBytes([0xff, 0x0a]))
  }

  @Test("large files may be known only if the snapshot has one of their size")
  func largeSizes() throws {
    let least = BlockList.smallestFile
    let known = try contents([row("a", size: least - 1, inode: 1), row("b", size: least, inode: 2)])
    #expect(try known.mayHave(size: least))
    #expect(try !known.mayHave(size: least - 1))
    #expect(try !known.mayHave(size: least + 1))
  }

  @Test("nothing is known of a manifest that cannot be read")
  func unreadable() throws {
    let known = try contents([row("a", inode: 1)])
    try t.file(PathBytes("s-\(Self.archive).manifest.zst"), "no manifest")
    #expect(try known.row(size: 10, digest: digest(1), attributes: nil, inode: 1) == nil)
    #expect(try !known.mayHave(size: 10))
  }
}
