import CCrypto
import CXXHash
import CZlib

/// The C libraries that this process runs with.
public enum LibraryVersions {
  /// Name and version of each, as the library itself tells it at run time.
  public static var all: [(name: String, version: String)] {
    [
      ("libcrypto", OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? "unknown"),
      ("libxxhash", xxhash),
      ("zlib", zlibVersion().map { String(cString: $0) } ?? "unknown"),
    ]
  }

  private static var xxhash: String {
    let number = XXH_versionNumber()
    return "\(number / 10_000).\(number / 100 % 100).\(number % 100)"
  }
}
