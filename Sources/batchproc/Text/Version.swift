import BatchCore
import BatchEngine
import CBuild

/// What `--version` prints.
enum Version {
  static let number = "1.0.0"
  /// The date of the version.
  static let date = "2026-11-29"

  /// The program's version, then those of the libraries found at run time.
  static var text: String {
    let libraries = LibraryVersions.all.map { "\($0.name) \($0.version)" }
    return ([line(commit: cbuild_commit())] + libraries).joined(separator: "\n")
  }

  /// `batchproc 1.0.0 (commit abc1234, release)`.
  ///
  /// - Parameter commit: as from `cbuild_commit`; 0 if it is unknown.
  static func line(commit: UInt32) -> String {
    var facts = [String]()
    if commit != 0 {
      let digits = String(commit >> 2, radix: 16)
      let padding = String(repeating: "0", count: max(0, 7 - digits.utf8.count))
      facts.append("commit \(padding)\(digits)" + (commit & 2 == 0 ? "" : " with changes"))
    }
    #if DEBUG
      facts.append("debug")
    #else
      if commit != 0 { facts.append("release") }
    #endif
    return "batchproc \(number)" + (facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))")
  }
}
