import Foundation
import Testing

/// The articles of the libraries name public symbols and show the samples as they are; `make docs` compiles
/// them.
@Suite struct ArticleTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  private static func files(_ folder: String, _ suffix: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent(folder).path)
      .filter { $0.hasSuffix(suffix) }.map { "\(folder)/\($0)" }
  }

  private static let keywords = [
    "class", "struct", "enum", "protocol", "func", "var", "let", "case", "typealias", "associatedtype",
  ]

  /// Whether a text declares a type or member. Regular expressions are slow without optimization.
  private static func declares(_ text: String, _ name: String) -> Bool {
    func isPartOfName(_ byte: CChar) -> Bool {
      byte < 0 || byte == CChar(UInt8(ascii: "_")) || isalnum(Int32(byte)) != 0
    }
    return text.withCString { text in
      keywords.contains { keyword in
        let word = "\(keyword) \(name)"
        var rest = text
        while let found = strstr(rest, word) {
          let end = UnsafePointer(found) + word.utf8.count
          if !isPartOfName(end.pointee), found == text || !isPartOfName(found[-1]) { return true }
          rest = end
        }
        return false
      }
    }
  }

  @Test(arguments: ["BatchEngine", "BatchOutputs", "BatchCore"])
  func linksNameExistingSymbols(library: String) throws {
    let folder = "Sources/\(library)/\(library).docc"
    let articles = try Self.files(folder, ".md")
    let sources = try Self.files("Sources/\(library)", ".swift").map(Self.text).joined(separator: "\n")
    var links = 0
    for article in articles {
      let text = try Self.text(article)
      for match in text.matches(of: /``([A-Za-z][\w\/():]*)``/) {
        links += 1
        for part in match.output.1.split(separator: "/") {
          // docc compares the argument labels.
          let name = String(part.prefix { $0 != "(" })
          #expect(name == library || Self.declares(sources, name), "\(article): \(match.output.1)")
        }
      }
      for match in text.matches(of: /<doc:(\w+)>/) {
        #expect(articles.contains("\(folder)/\(match.output.1).md"), "\(article): \(match.output.1)")
      }
      let name = article.split(separator: "/").last?.dropLast(3) ?? ""
      let landing = try Self.text("\(folder)/\(library).md")
      #expect(name == library || landing.contains("<doc:\(name)>"), "\(article) is not on the first page")
    }
    #expect(links > 4)
  }

  @Test(arguments: [
    (
      "Sources/BatchEngine/BatchEngine.docc/WriteYourOwnJob.md",
      "samples/LineCount/Sources/LineCount/main.swift"
    ),
    (
      "Sources/BatchOutputs/BatchOutputs.docc/WriteOutputs.md", "samples/LineEnds/Sources/LineEnds/main.swift"
    ),
    (
      "Sources/BatchCore/BatchCore.docc/EmbedJobs.md",
      "samples/CompressServer/Sources/CompressServer/main.swift"
    ),
    ("Sources/BatchCore/BatchCore.docc/TransformFiles.md", "samples/Rot13/Sources/Rot13/main.swift"),
    ("Sources/BatchCore/BatchCore.docc/ReadResults.md", "samples/Digests/Sources/Digests/main.swift"),
  ])
  func listingsAreTheSamples(article: String, sample: String) throws {
    let listing = try Self.text(article).split(separator: "```swift\n").last?.split(separator: "```").first
    #expect(listing.map(String.init) == (try Self.text(sample)))
  }

  @Test func eachIdeaOfTheGuideHasItsArticle() throws {
    let guide = try Self.text("docs/concurrency.md")
    let landing = try Self.text("Sources/BatchEngine/BatchEngine.docc/BatchEngine.md")
    for (heading, group) in [
      ("## Operations", "operations"), ("## Operation queues", "operation queues"),
      ("## Dispatch", "dispatch"),
    ] {
      let rows = guide.split(separator: heading + "\n").last?.split(separator: "\n## ").first?
        .split(separator: "\n").count { $0.hasPrefix("| ") && !$0.hasPrefix("| the guide") }
      let articles = landing.split(separator: "### The guide: \(group)\n").last?.split(separator: "\n### ")
        .first?
        .split(separator: "\n").count { $0.hasPrefix("- <doc:") }
      #expect(rows == articles, "\(heading)")
    }
  }
}
