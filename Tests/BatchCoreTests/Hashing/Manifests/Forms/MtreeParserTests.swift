import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("Defaults in an mtree manifest")
struct MtreeParserTests {
  private static let md5 = "md5=d41d8cd98f00b204e9800998ecf8427e"
  private static let sha1 = "sha1=da39a3ee5e6b4b0d3255bfef95601890afd80709"

  private func entries(_ lines: [String]) throws -> [ManifestEntry] {
    var parser = MtreeParser()
    return try lines.compactMap { try parser.parse(Array($0.utf8)) }
  }

  @Test("are valid until they are unset, one by one or all at once")
  func unset() throws {
    let all = "/set type=file size=7 time=5.25 \(Self.md5) \(Self.sha1)"
    let whole = try #require(try entries([all, "f"]).first)
    #expect(whole.size == 7 && whole.modified != nil && whole.digests.count == 2)
    #expect(try entries([all, "/unset size", "f"]).map(\.size) == [nil])
    #expect(try entries([all, "/unset time", "f"]).map(\.modified) == [nil])
    #expect(try entries([all, "/unset md5", "f"]).map { $0.digests.map(\.algorithm) } == [[.sha1]])
    #expect(try entries([all, "/unset md5 sha1 nothing", "f"]).isEmpty)
    #expect(try entries([all, "/unset all", "f"]).isEmpty)
    #expect(try entries(["/set type=dir \(Self.md5)", "f", "/unset type", "g"]).map(\.path) == ["f/g"])
  }

  @Test("are named when they are invalid")
  func invalid() {
    for line in ["/set size=x", "/set type=odd", "/set time=x", "/set md5=12", "/set size"] {
      #expect(throws: MalformedLine.self, "\(line)") { try entries([line]) }
    }
  }
}
