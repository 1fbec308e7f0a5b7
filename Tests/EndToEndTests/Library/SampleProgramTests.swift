import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// The programs under `samples/`, each built from a package of its own through the public interface alone.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["BATCHPROC_CAMPAIGN"] != nil))
struct SampleProgramTests {
  private static let samples = Repository.root.appendingPathComponent("samples").path

  @Test("the samples build and do what they say")
  func samples() throws {
    let t = try TreeFixture()
    try t.shell("mkdir d; printf 'a\\r\\nb\\r\\n' >d/x; printf 'c\\n' >d/y")
    for name in ["LineCount", "LineEnds"] {
      // Without HOME, swift makes its folders in one that it guesses.
      let run = try t.shell(
        "HOME=$PWD swift build -q --package-path \(Self.samples)/\(name) --scratch-path b && b/debug/\(name) d && rm -r b"
      )
      #expect(run.status == 0, "\(run.errorText)")
      #expect(run.text.hasSuffix(name == "LineCount" ? "2 files, 0 failed\n" : "2 files written, 0 failed\n"))
    }
    #expect(try t.shell("od -c d/x.unix | head -n 1").text.contains("a  \\n   b  \\n"))
  }
}

/// The same programs against the modules that were built for the tests: a moment in place of a build.
@Suite struct SampleSourceTests {
  @Test("the samples, which are the listings of the articles, compile", arguments: ["LineCount", "LineEnds"])
  func compile(name: String) throws {
    let t = try TreeFixture()
    let folder = DocumentationTests.folder
    let run = try t.typeCheck("'\(folder)/samples/\(name)/Sources/\(name)/main.swift'", isInside: false)
    #expect(run.status == 0, "\(run.errorText)")
  }
}
