import Glibc
import TestSupport
import Testing

@testable import BatchEngine

/// A file is trusted if it and its folder belong to the user or root, and no other user may write to them.
@Suite struct TrustedFileTests {
  private let t: TreeFixture
  private let file: TrustedFile

  init() throws {
    t = try TreeFixture()
    try t.file("d/config", "text")
    try t.setMode("d/config", 0o600)
    try t.setMode("d", 0o755)
    file = TrustedFile(calls: LinuxCalls())
  }

  private func refusal(_ name: PathBytes, by trust: TrustedFile? = nil) -> BatchError? {
    do throws(BatchError) {
      _ = try (trust ?? file).read(t.path(name), isPersonal: true)
      return nil
    } catch {
      return error
    }
  }

  @Test func readsAFileOfItsUser() throws {
    #expect(try file.read(t.path("d/config"), isPersonal: false) == Array("text".utf8))
    #expect(try file.read(t.path("d/none"), isPersonal: false) == nil)
    #expect(try file.read(t.path("d/config/none"), isPersonal: false) == nil)
  }

  @Test(arguments: [0o620, 0o602, 0o666] as [UInt32])
  func refusesAFileThatOthersMayWrite(mode: UInt32) throws {
    try t.setMode("d/config", mode)
    #expect(refusal("d/config")?.path == t.path("d/config"))
    try t.setMode("d/config", 0o600)
    try t.setMode("d", mode | 0o500)
    #expect(refusal("d/config")?.path == t.path("d"))
    #expect(refusal("d/config")?.message == "is refused, since other users may write to it")
  }

  @Test func refusesAFileOfAnotherUser() throws {
    let other = TrustedFile(user: geteuid() &+ 1, calls: LinuxCalls())
    if geteuid() == 0 {
      // The file belongs to root, which each user trusts.
      #expect(refusal("d/config", by: other) == nil)
      _ = t.path("d/config").withCString { chown($0, 4321, 4321) }
      #expect(refusal("d/config")?.message == "is refused, since it belongs to another user")
      #expect(refusal("d/config", by: TrustedFile(user: 4321, calls: LinuxCalls())) == nil)
    } else {
      #expect(refusal("d/config", by: other)?.message == "is refused, since it belongs to another user")
    }
  }

  @Test func checksTheFolderOfALinkAndTheFolderOfItsTarget() throws {
    try t.folder("links")
    try t.symbolicLink("links/config", to: "../d/config")
    #expect(refusal("links/config") == nil)
    try t.setMode("d", 0o777)
    #expect(refusal("links/config")?.path == t.path("d"))
    try t.setMode("d", 0o755)
    try t.setMode("links", 0o777)
    #expect(refusal("links/config")?.path == t.path("links"))
  }

  @Test func refusesAFileThatIsLargeOrIsNoText() throws {
    try t.fifo("d/fifo")
    try t.file("d/large", size: 1 << 20 + 1)
    #expect(refusal("d/fifo")?.message == "is not a regular file")
    #expect(refusal("d/large")?.code == .malformed)
    #expect(refusal("d")?.message == "is not a regular file")
  }
}
