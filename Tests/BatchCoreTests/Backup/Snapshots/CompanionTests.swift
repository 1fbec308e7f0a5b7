import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite("The companion of an encrypted manifest") struct CompanionTests {
  private let companion: Companion

  init() throws {
    let name = SnapshotName(set: "home", stamp: "20261120T020000Z", isEncrypted: true)
    let header = SnapshotHeader(
      name: name, sequence: 9, started: FileStatus.Time(seconds: 1795140000, nanoseconds: 5), increment: 2)
    var footer = SnapshotFooter()
    footer.needs = ["20261119T020000Z": .init(), "20261120T020000Z": .init()]
    footer.isVerified = true
    footer.archiveSize = 1234
    let digest = try DigestStream(.sha256).finish()
    companion = Companion(header, footer, archive: (1234, digest), manifest: (99, digest))
    #expect(companion.agrees(with: header, footer))
    footer.needs.removeValue(forKey: "20261119T020000Z")
    #expect(!companion.agrees(with: header, footer))
  }

  @Test("is read back as it was written") func roundTrip() throws {
    #expect(try Companion(companion.bytes()) == companion)
    let name = SnapshotName(set: "home", stamp: "20261120T020000Z", isEncrypted: true)
    #expect(companion.header(of: name).sequence == 9)
    #expect(companion.header(of: name).started.seconds == 1795140000)
    #expect(companion.footer.needs.count == 2)
  }

  @Test("names two archives while one is replaced, and then the new and the first one") func replacement()
    throws
  {
    let first = companion.archive
    let second = StoredArchive(size: 1000, digest: try Digest.sha256(of: [2]))
    let third = StoredArchive(size: 900, digest: try Digest.sha256(of: [3]))
    let between = companion.replacing(by: second)
    #expect(try Companion(between.bytes()) == between)
    #expect(between.archives == [first, second] && between.archive(ofSize: 1000) == second)
    #expect(between.archive(ofSize: 1234) == first && between.archive(ofSize: 5) == nil)
    #expect(between.settled(on: first) == companion)
    let after = between.settled(on: second)
    #expect(try Companion(after.bytes()) == after)
    #expect(after.archives == [second] && after.origin == first)
    let last = after.replacing(by: third).settled(on: third)
    #expect(last.archives == [third] && last.origin == first)
  }

  @Test("is refused with any flipped bit or cut") func damage() throws {
    let bytes = try companion.bytes()
    for place in bytes.indices {
      for bit in Campaign.isFull ? Array(0..<8) : [place % 8] {
        var other = bytes
        other[place] ^= 1 << UInt8(bit)
        expectError(.malformed) { try Companion(other) }
      }
      expectError(.malformed) { try Companion(Array(bytes[..<place])) }
    }
    expectError(.malformed) { try Companion(bytes + bytes) }
  }

  @Test("has the name of its snapshot, as the encrypted archive and manifest have") func names() {
    let name = SnapshotName(set: "a-b", stamp: "20261120T020000Z", isEncrypted: true)
    #expect(name.archive == "a-b-20261120T020000Z.tar.zst.age")
    #expect(name.manifest == "a-b-20261120T020000Z.manifest.zst.age")
    #expect(SnapshotName.of("/x/a-b-20261120T020000Z.tar.zst.age") == name)
    #expect(SnapshotName.of("a-b-20261120T020000Z.manifest")?.isEncrypted == false)
    #expect(
      SnapshotName(file: name.companion.bytes, set: "a-b", suffix: SnapshotName.companionSuffix) == name)
    #expect(SnapshotName.of("a.tar.zst") == nil)
  }
}
