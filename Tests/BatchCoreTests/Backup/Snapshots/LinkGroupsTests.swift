import BatchEngine
import Testing

@testable import BatchCore

@Suite("The names of one file in a manifest")
struct LinkGroupsTests {
  private func row(
    _ path: PathBytes, group: UInt64?, member: PathBytes? = nil, isReference: Bool = true, digest: UInt8 = 1
  ) throws -> SnapshotEntry {
    var entry = SnapshotEntry.blank
    (entry.path, entry.linkGroup, entry.linkCount, entry.inode) = (path, group, 2, UInt64(digest))
    (entry.archive, entry.member, entry.size) = ("20261120T020000Z", member, 4)
    entry.digest = Digest(.sha256, bytes: [UInt8](repeating: digest, count: 32))
    if isReference { (entry.userName, entry.groupName) = ("", "") }
    return entry
  }

  @Test("have one number; references with one content and two numbers are two files")
  func references() throws {
    var groups = LinkGroups()
    #expect(groups.first(of: try row("a", group: 1, member: "old")) == nil)
    #expect(groups.first(of: try row("b", group: 2, member: "old")) == nil)
    #expect(groups.first(of: try row("c", group: 1, member: "old")) == "a")
    #expect(groups.first(of: try row("d", group: 2, member: "old")) == "b")
    // A file that keeps the name of the member is another one too.
    #expect(groups.first(of: try row("old", group: 3, isReference: false)) == nil)
    #expect(groups.first(of: try row("z", group: 3, member: "old")) == "old")
    #expect(groups.doubtful == 0)
  }

  @Test("another content under one number is another file")
  func contents() throws {
    var groups = LinkGroups()
    #expect(groups.first(of: try row("a", group: 1)) == nil)
    #expect(groups.first(of: try row("b", group: 1, digest: 2)) == nil)
    #expect(groups.first(of: try row("c", group: 1, digest: 2)) == "b")
  }

  @Test("without numbers, rows with one member are names of one file")
  func earlierVersions() throws {
    var groups = LinkGroups()
    #expect(groups.first(of: try row("a", group: nil, isReference: false)) == nil)
    var further = try row("b", group: nil, isReference: false, digest: 2)
    further.firstName = "a"
    #expect(groups.first(of: further) == "a")
    #expect(groups.first(of: try row("c", group: 1, member: "a")) == nil)
  }
}
