import Foundation
import TestSupport

extension TreeFixture {
  /// Checks Swift files with the compiler against the modules that were built for the running tests.
  ///
  /// - Parameters:
  ///   - files: for the shell, which runs in the fixture.
  ///   - isInside: whether they belong to this package, and see what is `package`.
  func typeCheck(_ files: String, isInside: Bool) throws -> Outcome {
    // SwiftPM names a package by its folder.
    let package = String(
      URL(fileURLWithPath: DocumentationTests.folder).lastPathComponent.lowercased().map {
        $0.isLetter || $0.isNumber ? $0 : "_"
      })
    return try withModules(
      "swiftc -typecheck -wmo -swift-version 6 -package-name '\(isInside ? package : "other")' -module-name Checked",
      files)
  }

  /// Writes what is public in a library to files here, whose names end in `.symbols.json`.
  func symbolGraph(of library: String) throws -> Outcome {
    try withModules(
      #""$(dirname "$(realpath "$(command -v swift)")")"/swift-symbolgraph-extract -module-name \#(library)"#
        + #" -target "$(uname -m)-unknown-linux-gnu" -minimum-access-level public -skip-synthesized-members -output-dir ."#
    )
  }

  /// Runs a tool of the compiler that reads modules.
  private func withModules(_ tool: String, _ files: String = "") throws -> Outcome {
    let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      .path
    return try shell(
      """
      export HOME=$PWD; for f in '\(DocumentationTests.folder)'/Sources/C*/; do set -- "$@" -I "$f"; done
      for f in '\(build)'/C*.build/module.modulemap; do set -- "$@" -Xcc -fmodule-map-file="$f"; done
      \(tool) -I '\(build)/Modules' "$@" \(files)
      """)
  }
}
