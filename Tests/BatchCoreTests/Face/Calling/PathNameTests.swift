import BatchCore
import Foundation
import TestSupport
import Testing

@Suite("A name that a call of the library takes") struct PathNameTests {
  @Test("is a text, a file URL, or bytes")
  func kinds() throws {
    #expect(try "d/é x".pathBytes() == PathBytes("d/é x"))
    #expect(try URL(fileURLWithPath: "/d/é x").pathBytes() == PathBytes("/d/é x"))
    #expect(try PathBytes([0x64, 0xff]).pathBytes().bytes == [0x64, 0xff])
  }

  @Test("is refused if it holds a NUL or names no file")
  func refused() throws {
    expectError(.invalid) { try "d\0x".pathBytes() }
    expectError(.invalid) { try PathBytes([0]).pathBytes() }
    let page = try #require(URL(string: "https://example.org/d"))
    expectError(.invalid) { try page.pathBytes() }
  }

  @Test("is taken in each form by a call")
  func calls() async throws {
    let t = try TreeFixture()
    try t.file("d/a", "content\n")
    let text = try #require(t.root.appending("d".utf8).text)
    #expect(try await Batch.hash([text]).failures.isEmpty)
    #expect(try await Batch.hash([URL(fileURLWithPath: text)]).failures.isEmpty)
    #expect(try await Batch.hash([PathBytes(text)]).failures.isEmpty)
    #expect(try await Batch.hash([text + "/none"]).failures.map(\.error.code) == [.missing])
  }
}
