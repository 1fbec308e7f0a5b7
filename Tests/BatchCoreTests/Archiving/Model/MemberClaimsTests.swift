import BatchEngine
import Testing

@testable import BatchCore

@Suite("The names of the members of an archive") struct MemberClaimsTests {
  private var claims = MemberClaims()

  /// Claims a name, and describes the result in one word.
  private mutating func claim(_ path: PathBytes, _ kind: ArchiveEntry.Kind = .file) throws -> String {
    let place = try RelativePath(path)
    do {
      return "\(try claims.claim(place, kind, path: path))"
    } catch {
      return "refused"
    }
  }

  @Test("a file after a folder of its name replaces only that folder")
  mutating func folders() throws {
    #expect(try claim("d/x") == "nothing")
    #expect(try claim("d") == "replacesFolder")
    #expect(try claim("d") == "replaces")
    #expect(try claim("d", .directory) == "replaces")
    #expect(try claim("d", .fifo) == "replacesFolder")
  }

  @Test("a refused member claims nothing")
  mutating func refused() throws {
    #expect(try claim("a") == "nothing")
    #expect(try claim("a/b/c") == "refused")
    #expect(try claim("a/b/d") == "refused")
    // Not below `a/b`.
    #expect(try claim("a") == "replaces")
    #expect(try claim("b") == "nothing")
    #expect(claims.folderCount == 0)
  }

  @Test("a link replaces an earlier file, even if that one has replaced a folder")
  mutating func links() throws {
    #expect(try claim("d", .directory) == "nothing")
    #expect(try claim("d") == "replacesFolder")
    #expect(try claim("d", .symbolicLink) == "replaces")
    #expect(try claim("e", .directory) == "nothing")
    // The folder stays, and the link is refused when it is made.
    #expect(try claim("e", .symbolicLink) == "nothing")
    #expect(try claim("e") == "replacesFolder")
  }
}
