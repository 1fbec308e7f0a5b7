import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The alignment of names")
struct NameAlignmentTests {
  private func survey(_ paths: [PathBytes]) throws -> NameSurvey {
    var survey = NameSurvey()
    for path in paths {
      survey.add(path, try RelativePath(path), isFolder: path.bytes.last == UInt8(ascii: "/"))
    }
    return survey
  }

  private func align(
    _ recorded: [PathBytes], _ other: [PathBytes]?, folder: String = "", live: Set<String> = []
  ) throws -> [Int] {
    let existing = other.map { Set($0.map { $0.description }) } ?? live
    let alignment = NameAlignment(
      try survey(recorded), try other.map(survey),
      folder: Array(folder.utf8).split(separator: UInt8(ascii: "/"))
    ) { existing.contains(PathBytes($0.bytes).description) }
    return [alignment.recorded, alignment.other]
  }

  @Test("the folder at the beginning of the names is dropped when the names are compared with that folder")
  func folders() throws {
    let names: [PathBytes] = ["p/a/1", "p/a/2", "p/b"]
    #expect(try align(names, nil, folder: "/w/p", live: ["a/1", "b"]) == [1, 0])
    #expect(try align(names, nil, folder: "/w", live: ["p/a/1", "p/b"]) == [0, 0])
    #expect(try align(names, nil, folder: "/w/p2", live: ["a/1", "b"]) == [1, 0])
    // No file remains, so the names of the folders decide.
    #expect(try align(names, nil, folder: "/w/p", live: []) == [1, 0])
    #expect(try align(names, nil, folder: "/w", live: []) == [0, 0])
    #expect(try align(["w/p/a/1", "w/p/b"], nil, folder: "/w/p", live: ["b"]) == [2, 0])
  }

  @Test("of two records, the part is dropped that leaves most names in common")
  func records() throws {
    #expect(try align(["p/a", "p/b"], ["w/p/a", "w/p/c"]) == [0, 1])
    #expect(try align(["p/a", "p/b"], ["w/q/a", "w/q/b"]) == [1, 2])
    #expect(try align(["a", "b"], ["w/q/a", "w/q/b"]) == [0, 2])
    #expect(try align(["p/a"], ["p/a", "q/a"]) == [0, 0])
    #expect(try align(["p/a"], ["x/y"]) == [0, 0])
  }

  @Test("new paths are searched in the top folders of the names, or in the whole folder")
  func roots() throws {
    #expect(try survey(["p/a", "q/r/b"]).roots(dropped: 0) == ["p", "q"])
    #expect(try survey(["p/a"]).roots(dropped: 1) == ["."])
    #expect(try survey(["p/a", "b"]).roots(dropped: 0) == ["."])
    #expect(try survey(["./p/a"]).roots(dropped: 0) == ["."])
    #expect(try survey(["/w/p/a", "/w/p/q/b"]).roots(dropped: 0) == ["w/p"])
  }

  @Test("each part belongs to one share, and the first share of a name depends on the name")
  func shares() throws {
    let shares = try (1...7).map { try #require(ReadShare($0, of: 7)).beginning(at: "name".utf8) }
    for part in 0..<50 { #expect(shares.filter { $0.takes(part) }.count == 1) }
    let first = try #require(ReadShare(1, of: 30))
    let takers = (0..<300).filter { first.beginning(at: "home-2026\($0)".utf8).takes(0) }.count
    #expect((2...30).contains(takers))
    #expect(ReadShare(0, of: 3) == nil && ReadShare(4, of: 3) == nil && ReadShare(1, of: 0) == nil)
  }
}
