import BatchEngine
import CArchive
import CBlake3
import CCrypto
import CXXHash

/// The C libraries of this process.
package enum LibraryVersions {
  /// Name and version of each, by name, as reported by the library at run time, if possible.
  package static var all: [(name: String, version: String)] {
    let others = [
      ("libarchive", archive),
      ("libblake3", blake3_version().map { String(cString: $0) } ?? "unknown"),
      ("libcrypto", OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? "unknown"),
      ("libxxhash", xxhash),
    ]
    return (others + CompressionFormat.allCases.flatMap { $0.codec.libraries }).sorted { $0.name < $1.name }
  }

  private static var archive: String {
    let number = archive_version_number()
    return "\(number / 1_000_000).\(number / 1000 % 1000).\(number % 1000)"
  }

  private static var xxhash: String {
    let number = XXH_versionNumber()
    return "\(number / 10_000).\(number / 100 % 100).\(number % 100)"
  }
}
