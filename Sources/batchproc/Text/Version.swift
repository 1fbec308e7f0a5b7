import BatchCore
import BatchEngine

/// What `--version` prints.
enum Version {
  static let number = "0.3.0-dev"
  /// The date of the version.
  static let date = "2026-11-27"

  /// The program's version, then those of the libraries found at run time.
  static var text: String {
    let libraries = LibraryVersions.all.map { "\($0.name) \($0.version)" }
    return (["batchproc \(number)"] + libraries).joined(separator: "\n")
  }
}
