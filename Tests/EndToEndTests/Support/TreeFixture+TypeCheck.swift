import BatchEngine
import Foundation
import TestSupport
import Testing

extension TreeFixture {
  /// Checks Swift files with the compiler against the modules of the running tests.
  ///
  /// - Parameters:
  ///   - files: file names for the shell, which runs in the fixture.
  ///   - isInside: whether the files belong to this package, and can use `package` declarations.
  func typeCheck(_ files: String, isInside: Bool) throws -> Outcome {
    // SwiftPM names a package after its folder.
    let package = String(
      URL(fileURLWithPath: DocumentationTests.folder).lastPathComponent.lowercased().map {
        $0.isLetter || $0.isNumber ? $0 : "_"
      })
    return try withModules(
      "swiftc -typecheck -wmo -swift-version 6 -package-name '\(isInside ? package : "other")' -module-name Checked",
      files)
  }

  /// Writes the public symbols of a library to files in the fixture, whose names end with `.symbols.json`.
  func symbolGraph(of library: String) throws -> Outcome {
    try withModules(
      #""$(dirname "$(realpath "$(command -v swift)")")"/swift-symbolgraph-extract -module-name \#(library)"#
        + #" -target "$(uname -m)-unknown-linux-gnu" -minimum-access-level public -skip-synthesized-members -output-dir ."#
    )
  }

  /// Builds a program of `samples/` from the libraries of this test run, which is faster than building its package; it is then
  /// in the fixture under its name. Each program is built once in a run of the tests.
  func buildSample(_ name: String) throws {
    try copy(PathBytes("sample-\(name)")) { try $0.compileSample(name) }
  }

  private func compileSample(_ name: String) throws {
    let sources = "'\(DocumentationTests.folder)/samples/\(name)/Sources/\(name)/main.swift'"
    let objects = ["BatchCore", "BatchOutputs", "BatchEngine", "CLinux", "CMD5", "CSHA256"].map {
      "'\(Self.build)/\($0).build'/*.o"
    }
    let run = try withModules(
      "swiftc -swift-version 6 -warnings-as-errors -package-name other -module-name \(name) -o \(name) "
        + "-Xlinker --strip-debug $(pkg-config --libs-only-L blake3)",
      ([sources] + objects).joined(separator: " "))
    try #require(run.status == 0, "\(run.errorText)")
  }

  /// Where the compiler keeps the modules of the system, which take seconds to build: the tests of a run share them.
  private static let moduleCache =
    (ProcessInfo.processInfo.environment["BATCHPROC_TEST_TREES"] ?? "$PWD") + "/module-cache"

  /// The folder of the products of this test run.
  private static var build: String {
    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
  }

  /// Runs a compiler tool that reads modules.
  private func withModules(_ tool: String, _ files: String = "") throws -> Outcome {
    try shell(
      """
      export HOME=$PWD; for f in '\(DocumentationTests.folder)'/Sources/C*/; do set -- "$@" -I "$f"; done
      for f in '\(Self.build)'/C*.build/module.modulemap; do set -- "$@" -Xcc -fmodule-map-file="$f"; done
      \(tool) -module-cache-path "\(Self.moduleCache)" -I '\(Self.build)/Modules' "$@" \(files)
      """)
  }
}
