import BatchEngine
import CCrypto
import Synchronization

/// libcrypto's implementations of the algorithms, each fetched once for the process.
///
/// OpenSSL 3 looks an implementation up by name, through locks and property queries, whenever a
/// digest is started without one; for small files that takes longer than the digest itself.
enum FetchedDigests {
  // Addresses, because pointers are not Sendable. The objects are immutable, count their references atomically, and exist until
  // the process ends.
  private static let addresses = Mutex<[DigestAlgorithm: UInt]>([:])

  static func method(named name: String, of algorithm: DigestAlgorithm) throws(BatchError) -> OpaquePointer {
    let address = addresses.withLock { known -> UInt in
      if let address = known[algorithm] { return address }
      // Without these flags the first fetch fills a table with all names of OpenSSL 1, which takes longer than the fetch
      // itself. The table is not used here. The configuration of the system still decides which algorithms are available.
      let flags = UInt64(OPENSSL_INIT_NO_ADD_ALL_CIPHERS) | UInt64(OPENSSL_INIT_NO_ADD_ALL_DIGESTS)
      guard OPENSSL_init_crypto(flags, nil) == 1, let fetched = EVP_MD_fetch(nil, name, nil) else { return 0 }
      let address = UInt(bitPattern: fetched)
      known[algorithm] = address
      return address
    }
    guard let method = OpaquePointer(bitPattern: address) else {
      throw BatchError(
        .invalid, "libcrypto offers no \(algorithm.rawValue): \(lastError())",
        remedy: "choose another algorithm, or enable it in the configuration of OpenSSL")
    }
    return method
  }

  /// libcrypto's message about the last error on this thread; empties its error queue.
  static func lastError() -> String {
    let number = ERR_get_error()
    ERR_clear_error()
    guard number != 0 else { return "unknown error" }
    var text = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(number, &text, text.count)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
