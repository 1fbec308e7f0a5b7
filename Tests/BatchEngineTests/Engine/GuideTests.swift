import Foundation
import Testing

/// Compares statements of the documents with the sources.
@Suite struct GuideTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The Swift files below a folder, each with its text without comments.
  private static func sources(_ folder: String) throws -> [(path: String, text: String)] {
    try (folder == "Sources" ? ours : folder == "Tests" ? tests : Result { try read(folder) }).get()
  }

  private static let ours = Result { try read("Sources") }
  private static let tests = Result { try read("Tests") }

  private static func read(_ folder: String) throws -> [(path: String, text: String)] {
    let base = root.appendingPathComponent(folder)
    let names = try FileManager.default.subpathsOfDirectory(atPath: base.path).filter {
      $0.hasSuffix(".swift")
    }
    return try names.map { name in
      let text = try String(contentsOf: base.appendingPathComponent(name), encoding: .utf8)
      return (name, lines(of: text).filter { !isComment($0) }.joined(separator: "\n"))
    }
  }

  /// The lines that are not empty. `split` is slow without optimization.
  private static func lines(of text: String) -> [String] {
    text.withCString { text in
      var lines: [String] = []
      var rest = text
      while true {
        let count = strcspn(rest, "\n")
        if count > 0 {
          lines.append(String(decoding: UnsafeRawBufferPointer(start: rest, count: count), as: UTF8.self))
        }
        rest += count
        if rest.pointee == 0 { return lines }
        rest += 1
      }
    }
  }

  private static func isComment(_ line: String) -> Bool {
    line.withCString { strncmp($0 + strspn($0, " "), "//", 2) == 0 }
  }

  private static let keywords = ["class ", "struct ", "enum ", "protocol "]

  /// The names of types that a text declares; with `isOuter`, only those declared without indentation.
  private static func types(in text: String, isOuter: Bool = false) -> Set<String> {
    Set(
      lines(of: text).compactMap { line in
        guard !isOuter || !line.hasPrefix(" "),
          line.withCString({ line in keywords.contains { strstr(line, $0) != nil } })
        else { return nil }
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
      guard cells.count >= 6, !cells[0].hasPrefix("---"), !line.hasPrefix("| the guide") else { continue }
      for name in Self.code(in: cells[3]) {
        checked += 1
        #expect(declared.contains(name), "no type \(name)")
      }
      for name in Self.code(in: cells[5]) {
        checked += 1
        #expect(suites.contains(name), "no suite \(name)")
      }
      #expect(!cells[4].allSatisfy { $0 == " " }, "who uses it: \(line)")
    }
    #expect(checked > 60)
  }

  @Test func everyCallOfTheGuideIsMadeByTheTypesOfItsRow() throws {
    let sources = try Self.sources("Sources").filter { !$0.path.hasSuffix(".md") }
    let guide = try String(
      contentsOf: Self.root.appendingPathComponent("docs/concurrency.md"), encoding: .utf8)
    var (used, unused) = (0, 0)
    for line in guide.split(separator: "\n") where line.hasPrefix("|") && !line.hasPrefix("| the guide") {
      let cells = line.dropFirst().split(separator: "|", omittingEmptySubsequences: false)
      if cells.count >= 6 {
        let types = Self.code(in: cells[3])
        let files = sources.filter { source in types.contains { Self.belongs(source.text, to: $0) } }
        for call in Self.code(in: cells[2]) {
          used += 1
          #expect(files.contains { Self.makes($0.text, call) }, "\(types) do not call \(call)")
        }
      } else if cells.count == 4, !cells[1].contains("---"),
        guide.range(of: "## Not available").map({ line.startIndex < $0.lowerBound }) ?? true
      {
        for call in Self.code(in: cells[1]) {
          unused += 1
          // A queue that is an argument is also written without its type.
          let short = call.split(separator: ".").last.map { " .\($0)(" }
          let found = sources.filter { source in
            Self.makes(source.text, call)
              || call.contains(".") && short.map { Self.finds($0, in: source.text) { _, _ in true } } ?? false
          }
          #expect(found.map(\.path) == [], "\(call)")
        }
      }
    }
    #expect(used > 30 && unused > 8)
  }

  /// The words in a cell that are set as code.
  private static func code(in cell: Substring) -> [String] {
    cell.matches(of: /`([\w.]+)`/).map { String($0.output.1) }
  }

  /// Whether a text declares or extends a type.
  private static func belongs(_ text: String, to type: String) -> Bool {
    (keywords + ["extension "]).contains { makes(text, $0 + type) }
  }

  private static func makes(_ text: String, _ call: String) -> Bool {
    func isPartOfName(_ byte: UInt8?) -> Bool {
      byte.map { $0 >= 0x80 || $0 == UInt8(ascii: "_") || isalnum(Int32($0)) != 0 } ?? false
    }
    return finds(call, in: text) { !isPartOfName($0) && !isPartOfName($1) }
  }

  /// Whether a text has a word at a place that is accepted by the bytes before and behind it.
  private static func finds(_ word: String, in text: String, where isAccepted: (UInt8?, UInt8?) -> Bool)
    -> Bool
  {
    text.withCString { text in
      word.withCString { word in
        var rest = text
        while let found = strstr(rest, word) {
          let end = UnsafePointer(found) + strlen(word)
          let before = found == text ? nil : UInt8(bitPattern: found[-1])
          if isAccepted(before, end.pointee == 0 ? nil : UInt8(bitPattern: end.pointee)) { return true }
          rest = end
        }
        return false
      }
    }
  }

  @Test(arguments: [2, 3]) func noTwoFoldersUseEachOther(depth: Int) throws {
    var words: [String: Set<String>] = [:]
    var homes: [String: Set<String>] = [:]
    for source in try Self.sources("Sources") {
      let folder = source.path.split(separator: "/").dropLast().prefix(depth).joined(separator: "/")
      // `import struct Glibc.stat` declares no type.
      let text = Self.lines(of: source.text).filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
      words[folder, default: []].formUnion(Self.words(in: text))
      for type in Self.types(in: text, isOuter: true) {
        homes[type, default: []].insert(folder)
      }
    }
    var uses: [String: Set<String>] = [:]
    for (folder, words) in words {
      let target = folder.prefix { $0 != "/" }
      for word in words {
        // A name that several targets declare means the one of the target that uses it.
        guard let home = homes[word]?.filter({ $0.prefix { $0 != "/" } == target }), !home.contains(folder)
        else { continue }
        uses[folder, default: []].formUnion(home)
      }
    }
    let found = Set(
      uses.flatMap { folder, others in
        others.filter { folder < $0 && uses[$0]?.contains(folder) == true }.map { "\(folder) + \($0)" }
      })
    #expect(uses.count > 20)
    #expect(found == [])
  }

  /// The words of a text that may be names of types. `split` is slow without optimization.
  private static func words(in text: String) -> Set<String> {
    text.withCString { text in
      var words: Set<String> = []
      var rest = text
      while true {
        rest += strcspn(rest, bytesOfWords)
        if rest.pointee == 0 { return words }
        let count = strspn(rest, bytesOfWords)
        if (0x41...0x5A).contains(rest.pointee) {
          words.insert(String(decoding: UnsafeRawBufferPointer(start: rest, count: count), as: UTF8.self))
        }
        rest += count
      }
    }
  }

  private static let bytesOfWords = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

  @Test(arguments: ["Sources", "Tests"]) func noFolderHasMoreThan20Files(root: String) throws {
    let sources = try Self.sources(root)
    let counts = Dictionary(grouping: sources) { $0.path.split(separator: "/").dropLast() }
    for (folder, files) in counts {
      #expect(files.count <= 20, "\(folder.joined(separator: "/"))")
    }
  }

  @Test func noCommandIsLong() throws {
    let commands = try Self.sources("Sources").filter { $0.path.hasPrefix("batchproc/Commands/") }
    #expect(commands.count > 50)
    for command in commands { #expect(command.text.split(separator: "\n").count <= 160, "\(command.path)") }
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
      // This file contains the options of rclone.
      guard !source.path.hasSuffix("RcloneRemote.swift") else { continue }
      for line in source.text.split(separator: "\n") {
        guard line.contains("--") else { continue }
        #expect(line.firstMatch(of: /"(?:[^"]*[ `(])?--[a-z]/) == nil, "\(source.path): \(line)")
      }
    }
  }
}
