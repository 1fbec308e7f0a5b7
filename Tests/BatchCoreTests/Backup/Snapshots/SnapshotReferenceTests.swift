import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// Rows with the columns of schema 2.
@Suite("Rows that refer to earlier content")
struct SnapshotReferenceTests {
  private func row(isReference: Bool = true) throws -> SnapshotEntry {
    var entry = SnapshotEntry.blank
    (entry.path, entry.archive, entry.inode, entry.mode) = ("home/new", "20261120T020000Z", 12, 0o640)
    (entry.modified, entry.statusChanged) = (
      .init(seconds: 3, nanoseconds: 4), .init(seconds: 5, nanoseconds: 6)
    )
    (entry.size, entry.owner, entry.group) = (4, 1000, 100)
    entry.digest = try Digest.sha256(of: [1])
    entry.attributes = try Digest.sha256(of: [2])
    if isReference { (entry.userName, entry.groupName, entry.member) = ("anna", "users", "home/old") }
    return entry
  }

  private func expectSame(_ entry: SnapshotEntry, isFast: Bool) throws {
    #expect(try SnapshotEntry(SnapshotLine(entry.line)) == entry)
    var parser = SnapshotRowParser()
    #expect(parser.entry(entry.line) == (isFast ? entry : nil))
  }

  @Test("are read by both parsers")
  func reading() throws {
    let entry = try row()
    let text = String(decoding: entry.line, as: UTF8.self)
    #expect(text.contains(#""gid":100,"user":"anna","group":"users","sha256":""#))
    #expect(text.hasSuffix(#""archive":"20261120T020000Z","member":"home/old"}"#))
    #expect(entry.isReference && entry.contentName == "home/old")
    try expectSame(entry, isFast: true)
    var own = entry
    (own.member, own.attributes, own.linkGroup, own.linkCount) = (nil, nil, 3, 2)
    #expect(own.isReference && own.contentName == "home/new")
    try expectSame(own, isFast: true)
    var nameless = entry
    (nameless.userName, nameless.groupName) = ("", "")
    try expectSame(nameless, isFast: true)
    try expectSame(try row(isReference: false), isFast: true)
  }

  @Test("may have names of any bytes")
  func oddNames() throws {
    var entry = try row()
    entry.member = PathBytes(Array("home/".utf8) + [0xff, 0x0a])
    entry.userName = PathBytes([0xfe])
    entry.groupName = "a\"b"
    try expectSame(entry, isFast: false)
  }

  @Test("that are not consistent are refused by both parsers")
  func inconsistent() throws {
    let changes: [(String, (inout SnapshotEntry) -> Void)] = [
      ("a user without a group", { $0.groupName = nil }),
      ("a group without a user", { $0.userName = nil }),
      ("a member without metadata", { ($0.userName, $0.groupName) = (nil, nil) }),
      ("an empty member", { $0.member = "" }),
      ("no digest", { $0.digest = nil }),
      ("a name of a member twice", { $0.firstName = "home/first" }),
      ("a directory", { ($0.kind, $0.digest) = (.directory, nil) }),
      ("a link", { ($0.kind, $0.digest, $0.linkTarget) = (.symbolicLink, nil, "x") }),
    ]
    for (name, change) in changes {
      var entry = try row()
      change(&entry)
      let line = entry.line
      expectError(.malformed, about: "\(name)") { try SnapshotEntry(SnapshotLine(line)) }
      var parser = SnapshotRowParser()
      #expect(parser.entry(line) == nil, "\(name)")
    }
  }
}
