import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite("The names of members of an archive with their places")
struct MemberNamesTests {
  private func metadata(mode: UInt32, hasAttributes: Bool = true) -> MemberMetadata {
    MemberMetadata(
      mode: mode, owner: 7, group: 8, ownerName: Array("anna".utf8), groupName: [],
      modified: FileStatus.Time(seconds: 5, nanoseconds: 6), hasAttributes: hasAttributes)
  }

  private let name = Array("a/old".utf8)

  @Test("have one place each; a member for another file is refused and changes nothing")
  func places() throws {
    var names = MemberNames()
    let digest = try Digest.sha256(of: [1])
    #expect(try names.insert(name, digest, as: RelativePath("b/new"), metadata(mode: 0o600)))
    #expect(try !names.insert(name, digest, as: RelativePath("b/other"), metadata(mode: 0o644)))
    #expect(try !names.insert(name, digest, as: RelativePath("a/old"), nil))
    #expect(names.count == 1 && names.place(of: name)?.bytes == Array("b/new".utf8))
    #expect(names.contains(name) && !names.contains(Array("b/new".utf8)))
    // The same file again.
    #expect(try names.insert(name, digest, as: RelativePath("b/new"), metadata(mode: 0o600)))
    var entry = ArchiveEntry(path: PathBytes(name), kind: .file)
    #expect(try names.digest(for: entry) == digest)
    names.describe(&entry, named: name)
    #expect(entry.mode == 0o600)
  }

  @Test("an own name without metadata keeps those of the header, and a reference to it is refused")
  func ownName() throws {
    var names = MemberNames()
    #expect(try names.insert(name, nil, as: RelativePath("a/old"), nil))
    #expect(names.place(of: name) == nil)
    #expect(try !names.insert(name, nil, as: RelativePath("b"), metadata(mode: 0o600)))
    var entry = ArchiveEntry(path: PathBytes(name), kind: .file)
    let before = entry
    names.describe(&entry, named: name)
    #expect(entry == before)
  }

  @Test("two places without metadata are an error of the manifest")
  func contradiction() throws {
    var names = MemberNames()
    try names.insert(name, nil, as: RelativePath("b"), nil)
    expectError(.malformed, at: "a/old") { try names.insert(name, nil, as: RelativePath("c"), nil) }
  }

  @Test("a reference gets all metadata of its row", arguments: [true, false])
  func description(hasAttributes: Bool) throws {
    var names = MemberNames()
    try names.insert(name, nil, as: RelativePath("b"), metadata(mode: 0o4750, hasAttributes: hasAttributes))
    var entry = ArchiveEntry(path: PathBytes(name), kind: .file)
    (entry.size, entry.ownerName, entry.groupName) = (9, Array("bert".utf8), Array("users".utf8))
    (entry.hasMode, entry.hasTime) = (false, false)
    entry.attributes = [ExtendedAttribute(name: Array("user.a".utf8), value: [1])]
    names.describe(&entry, named: name)
    #expect(entry.mode == 0o4750 && entry.hasMode && entry.owner == 7 && entry.group == 8)
    #expect(entry.ownerName == Array("anna".utf8) && entry.groupName.isEmpty)
    #expect(entry.modified == FileStatus.Time(seconds: 5, nanoseconds: 6) && entry.hasTime)
    #expect(entry.attributes.count == (hasAttributes ? 1 : 0))
    #expect(entry.size == 9 && entry.path == PathBytes(name))
    var other = ArchiveEntry(path: "other", kind: .file)
    let before = other
    names.describe(&other, named: Array("other".utf8))
    #expect(other == before)
  }
}
