import BatchEngine
import CArchive
import CBZip2
import CBlake3
import CCrypto
import CDeflate
import CLZ4
import CLZMA
import CXXHash
import CZlib
import CZstd

/// The C libraries that this process runs with.
package enum LibraryVersions {
  /// Name and version of each, as the library itself tells it at run time; libdeflate cannot, so that its
  /// version is the one that was compiled against.
  package static var all: [(name: String, version: String)] {
    [
      ("libarchive", archive),
      ("libblake3", blake3_version().map { String(cString: $0) } ?? "unknown"),
      ("libbz2", BZ2_bzlibVersion().map { String(String(cString: $0).prefix { $0 != "," }) } ?? "unknown"),
      ("libcrypto", OpenSSL_version(OPENSSL_VERSION_STRING).map { String(cString: $0) } ?? "unknown"),
      ("libdeflate", LIBDEFLATE_VERSION_STRING),
      ("liblz4", LZ4_versionString().map { String(cString: $0) } ?? "unknown"),
      ("liblzma", lzma_version_string().map { String(cString: $0) } ?? "unknown"),
      ("libxxhash", xxhash),
      ("libzstd", ZSTD_versionString().map { String(cString: $0) } ?? "unknown"),
      ("zlib", zlibVersion().map { String(cString: $0) } ?? "unknown"),
    ]
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
