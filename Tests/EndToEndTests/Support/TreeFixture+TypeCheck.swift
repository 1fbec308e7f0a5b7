import Foundation
import TestSupport

extension TreeFixture {
  /// Checks Swift files with the compiler against the modules that were built for the running tests.
  ///
  /// - Parameters:
  ///   - files: for the shell, which runs in the fixture.
  ///   - isInside: whether they belong to this package, and see what is `package`.
  func typeCheck(_ files: String, isInside: Bool) throws -> Outcome {
    let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      .path
    let checkout = DocumentationTests.folder
    // SwiftPM names a package by its folder.
    let package = String(
      URL(fileURLWithPath: checkout).lastPathComponent.lowercased().map {
        $0.isLetter || $0.isNumber ? $0 : "_"
      })
    return try shell(
      """
      export HOME=$PWD; for f in '\(checkout)'/Sources/C*/; do set -- "$@" -I "$f"; done
      for f in '\(build)'/C*.build/module.modulemap; do set -- "$@" -Xcc -fmodule-map-file="$f"; done
      swiftc -typecheck -wmo -swift-version 6 -package-name '\(isInside ? package : "other")' -module-name Checked -I '\(build)/Modules' "$@" \(files)
      """)
  }
}
