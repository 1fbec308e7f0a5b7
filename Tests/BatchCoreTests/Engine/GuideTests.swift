import Foundation
import Testing

/// What the documents say of the code, held against the sources.
@Suite struct GuideTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The Swift files below a folder, each with its text without comments.
  private static func sources(_ folder: String) throws -> [(path: String, text: String)] {
    let base = root.appendingPathComponent(folder)
    let names = try FileManager.default.subpathsOfDirectory(atPath: base.path).filter {
      $0.hasSuffix(".swift")
    }
    return try names.map { name in
      let text = try String(contentsOf: base.appendingPathComponent(name), encoding: .utf8)
      let lines = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
      return (name, lines.joined(separator: "\n"))
    }
  }

  /// The names of types that are declared in a text; of those at the margin when `isOuter`.
  private static func types(in text: String, isOuter: Bool = false) -> Set<String> {
    Set(
      text.split(separator: "\n").compactMap { line in
        guard !isOuter || line.first != " " else { return nil }
        let match = line.firstMatch(of: /\b(?:class|struct|enum|protocol)\s+([A-Z]\w*)/)
        return match.map { String($0.output.1) }
      })
  }

  @Test func everyTypeAndSuiteOfTheGuideExists() throws {
    let declared = try Self.sources("Sources").reduce(into: Set<String>()) {
      $0.formUnion(Self.types(in: $1.text))
    }
    let suites = try Self.sources("Tests").reduce(into: Set<String>()) {
      $0.formUnion(Self.types(in: $1.text))
    }
    let guide = try String(
      contentsOf: Self.root.appendingPathComponent("docs/concurrency.md"), encoding: .utf8)
    var checked = 0
    for line in guide.split(separator: "\n") where line.hasPrefix("|") {
      let cells = line.dropFirst().split(separator: "|", omittingEmptySubsequences: false)
      guard cells.count >= 5, !cells[0].hasPrefix("---"), !line.hasPrefix("| the guide") else { continue }
      for name in cells[2].matches(of: /`(\w+)`/) {
        checked += 1
        #expect(declared.contains(String(name.output.1)), "no type \(name.output.1)")
      }
      for name in cells[4].matches(of: /`(\w+)`/) {
        checked += 1
        #expect(suites.contains(String(name.output.1)), "no suite \(name.output.1)")
      }
      #expect(!cells[3].allSatisfy { $0 == " " }, "who uses it: \(line)")
    }
    #expect(checked > 60)
  }

  @Test func noTwoFoldersOfTheLibraryUseEachOther() throws {
    let folders = ["Tuning", "Hashing", "Duplicates", "Comparing", "Compression", "Archiving", "Backup"]
    var texts: [String: String] = [:]
    for folder in folders {
      // `import struct Glibc.stat` declares nothing.
      texts[folder] = try Self.sources("Sources/BatchCore/\(folder)").flatMap {
        $0.text.split(separator: "\n")
      }
      .filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
    }
    let declared = texts.mapValues { Self.types(in: $0, isOuter: true) }
    func uses(_ user: String, of owner: String) -> Set<String> {
      let words = Set(
        (texts[user] ?? "").split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
      return words.intersection(declared[owner] ?? []).subtracting(declared[user] ?? [])
    }
    for (index, first) in folders.enumerated() {
      for second in folders[(index + 1)...] {
        let (down, up) = (uses(first, of: second), uses(second, of: first))
        #expect(down.isEmpty || up.isEmpty, "\(first) uses \(down), and \(second) uses \(up)")
      }
    }
  }

  @Test func theEngineNeedsNoCodecLibrary() throws {
    for source in try Self.sources("Sources/BatchEngine") {
      for line in source.text.split(separator: "\n") where line.hasPrefix("import ") {
        let isKnown = ["CLinux", "Dispatch", "Foundation", "Glibc", "Synchronization"].contains(
          String(line.dropFirst("import ".count)))
        #expect(isKnown, "\(source.path): \(line)")
      }
    }
  }

  @Test func theLibraryNamesNoOptionOfTheCommand() throws {
    for source in try ["Sources/BatchEngine", "Sources/BatchOutputs", "Sources/BatchCore"].flatMap({
      try Self.sources($0)
    }) {
      // Another program has options of its own.
      guard !source.path.hasSuffix("RcloneRemote.swift") else { continue }
      for line in source.text.split(separator: "\n") {
        #expect(line.firstMatch(of: /"(?:[^"]*[ `(])?--[a-z]/) == nil, "\(source.path): \(line)")
      }
    }
  }
}
