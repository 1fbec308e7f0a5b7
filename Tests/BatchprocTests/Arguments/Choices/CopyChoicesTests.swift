import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite("The places of copies of a backup") struct CopyChoicesTests {
  private func copies(_ words: String, _ profile: String? = nil) throws -> [String] {
    let text = profile.map { "[profile p]\ncommand = backup\nto = s\noperand = x\n\($0)" } ?? ""
    let file = try ConfigurationFile(Array(text.utf8), at: "/p.conf")
    let parser = CommandLineParser(
      configuration: { () throws(UsageError) in Configuration(files: [file]) },
      environment: { $0 == "BATCHPROC_COPY_KEEP_YEARLY" ? "9" : nil })
    let line =
      (profile == nil ? "backup --to s " : "backup --profile p ") + words + (profile == nil ? " x" : "")
    guard case .run(let parsed) = try parser.parse(line.split(separator: " ").map { PathBytes(String($0)) })
    else {
      throw BatchError(.invalid, "the line runs no command")
    }
    return try CopyChoices.all(parsed).map { copy in
      let rules: [Retention.Rule] = [.last, .daily, .weekly, .monthly, .yearly]
      let counts = rules.map { rule in copy.retention.counts[rule].map(String.init) ?? "-" }
      return "\(copy.remote) \(counts.joined()) \(copy.isAppendOnly)"
    }
  }

  @Test("have the options that follow them, and those before the first one")
  func order() throws {
    #expect(try copies("").isEmpty)
    #expect(try copies("--copy-keep-last 1 --copy-to a") == ["a 1---9 false"])
    #expect(try copies("--copy-to a --copy-keep-last 1 --append-only") == ["a 1---9 true"])
    #expect(
      try copies(
        "--copy-keep-last 1 --copy-to a --copy-keep-last 2 --copy-keep-last 3 --copy-to b --append-only "
          + "--copy-to off:c --copy-keep-daily 4") == [
          "a 3---9 false", "b 1---9 true", "off:c 14--9 false",
        ])
  }

  @Test("have the options of their profile, and those of the command line")
  func profiles() throws {
    let places = "copy-to = a\ncopy-keep-last = 1\ncopy-to = b\ncopy-keep-daily = 2"
    #expect(try copies("", places) == ["a 1---9 false", "b -2--9 false"])
    #expect(try copies("--copy-keep-weekly 5", places) == ["a 1-5-9 false", "b -25-9 false"])
    #expect(try copies("--copy-keep-last 5", places) == ["a 5---9 false", "b 52--9 false"])
    // Rules of a place go with it, and rules for all places stay.
    #expect(try copies("--copy-to c", places) == ["c ----9 false"])
    #expect(try copies("--copy-to c --copy-keep-last 4", places) == ["c 4---9 false"])
    #expect(try copies("--copy-to c", "copy-keep-last = 3\n" + places) == ["c 3---9 false"])
    #expect(try copies("--copy-to c", "copy-keep-last = 3") == ["c 3---9 false"])
  }

  @Test("are given once each")
  func repeated() {
    #expect(throws: UsageError.self) { try copies("--copy-to a --copy-to b --copy-to a") }
  }
}
