import Testing

@testable import batchproc

@Suite struct SuggestionTests {
  @Test(arguments: [
    ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("ab", "ba", 1), ("kitten", "sitting", 3),
    ("hash", "hahs", 1),
  ])
  func countsEdits(source: String, target: String, edits: Int) {
    #expect(Suggestion.edits(from: Array(source.utf8), to: Array(target.utf8)) == edits)
  }

  @Test func suggestsNoDistantWord() {
    #expect(Suggestion.nearest(to: "--xyzzy".utf8, among: ["--zero", "--force"]) == nil)
    #expect(Suggestion.nearest(to: "--".utf8, among: ["--zero"]) == nil)
    #expect(Suggestion.nearest(to: "--zero".utf8, among: []) == nil)
    #expect(Suggestion.nearest(to: "--keep".utf8, among: ["--help"]) == nil)
  }

  @Test func prefersWordsThatBeginWithTheInput() {
    #expect(Suggestion.nearest(to: "--algo".utf8, among: ["--all", "--algorithm"]) == "--algorithm")
  }
}
