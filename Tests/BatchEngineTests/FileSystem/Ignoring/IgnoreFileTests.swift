import Testing

@testable import BatchEngine

@Suite struct IgnoreFileTests {
  private func lines(_ text: String, taking name: String) -> Bool {
    let path = Array(name.utf8)
    return IgnoreFile.patterns(in: Array(text.utf8)).contains {
      $0.matches(path: path.span, nameStart: 0, base: 0, isDirectory: false)
    }
  }

  @Test("comments and empty lines are no patterns")
  func comments() {
    #expect(IgnoreFile.patterns(in: Array("#a\n\n  \n\r\n".utf8)).isEmpty)
    #expect(lines("\\#a\n", taking: "#a"))
    #expect(lines(" #a\n", taking: " #a"))
  }

  @Test("spaces at the end are removed unless a backslash precedes them")
  func trailingSpaces() {
    #expect(lines("a  \n", taking: "a"))
    #expect(lines("a\\  \n", taking: "a "))
    #expect(!lines("a\t\n", taking: "a"))
    #expect(lines(" a", taking: " a"))
  }

  @Test("a byte order mark, carriage returns and a last line without a line end are accepted")
  func foreignEditors() {
    #expect(lines("\u{feff}a\r\nb", taking: "a"))
    #expect(lines("\u{feff}a\r\nb", taking: "b"))
    #expect(lines("a\r\r\n", taking: "a\r"))
  }

  @Test("a file that cannot be read is named")
  func missing() throws {
    let error = try #require(throws: BatchError.self) { try IgnoreFile.load("/nonexistent/patterns") }
    #expect(error.code == .missing)
    #expect(error.path == "/nonexistent/patterns")
  }

  @Test("an endless file is refused")
  func endless() throws {
    let error = try #require(throws: BatchError.self) { try IgnoreFile.load("/dev/zero") }
    #expect(error.code == .malformed)
  }
}
