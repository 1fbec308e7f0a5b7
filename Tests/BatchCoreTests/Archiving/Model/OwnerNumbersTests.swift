import BatchEngine
import Glibc
import Testing

@testable import BatchCore

@Suite("The owner of a member")
struct OwnerNumbersTests {
  private func owner(_ user: [UInt8], _ group: [UInt8], _ numbers: (UInt32, UInt32), numeric: Bool = false)
    -> [UInt32]?
  {
    var entry = ArchiveEntry(path: "f", kind: .file, mode: 0o644)
    (entry.ownerName, entry.groupName, entry.owner, entry.group) = (user, group, numbers.0, numbers.1)
    let found = OwnerNumbers().owner(of: entry, numeric: numeric)
    return found.map { [$0.user, $0.group] }
  }

  @Test("is the account with its name, if there is one")
  func names() throws {
    let daemon = try #require(getpwnam("daemon")).pointee
    let group = try #require(getgrnam("daemon")).pointee
    let name = Array("daemon".utf8)
    #expect(owner(name, name, (70, 80)) == [daemon.pw_uid, group.gr_gid])
    #expect(owner(name, name, (70, 80), numeric: true) == [70, 80])
  }

  @Test("is its number when the name is empty, unknown or contains a NUL")
  func numbers() {
    for name in [[], Array("no such account".utf8), Array("root\0".utf8)] as [[UInt8]] {
      #expect(owner(name, name, (70, 80)) == [70, 80])
    }
  }

  @Test("is ignored when its number is the one that means no change")
  func impossible() {
    #expect(owner([], [], (.max, 80)) == nil)
    #expect(owner([], [], (70, .max)) == nil)
  }

  @Test("is looked up once, also when the name is unknown")
  func again() {
    let numbers = OwnerNumbers()
    var entry = ArchiveEntry(path: "f", kind: .file, mode: 0o644)
    for number: UInt32 in [1, 2] {
      (entry.ownerName, entry.owner, entry.group) = (Array("no such account".utf8), number, number)
      let found = numbers.owner(of: entry, numeric: false)
      #expect(found?.user == number && found?.group == number)
    }
  }
}
