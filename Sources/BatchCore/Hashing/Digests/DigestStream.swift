import BatchEngine
import CCrypto
import CXXHash
import CZlib

/// Computes digests of one algorithm, file after file, on one thread at a time.
///
/// A stream keeps its library's state between files; creating one costs about as much as hashing a kilobyte, so it is reused.
package final class DigestStream {
  package let algorithm: DigestAlgorithm
  private let engine: Engine
  // The state is initialized with the first bytes: so a reset costs nothing and cannot fail.
  private var isStarted = false
  private var checksum: UInt = 0

  private enum Engine {
    case openssl(context: OpaquePointer, method: OpaquePointer)
    case xxh3(OpaquePointer)
    case xxh128(OpaquePointer)
    case blake3(Blake3Hasher)
    case crc32
  }

  /// - Throws: `.invalid` when libcrypto refuses the algorithm (MD5 under a FIPS configuration),
  ///   `.exhausted` when memory for the state is missing.
  package init(_ algorithm: DigestAlgorithm) throws(BatchError) {
    self.algorithm = algorithm
    if let name = algorithm.opensslName {
      let method = try FetchedDigests.method(named: name, of: algorithm)
      guard let context = EVP_MD_CTX_new() else { throw Self.noState }
      engine = .openssl(context: context, method: method)
    } else if algorithm == .blake3 {
      engine = .blake3(Blake3Hasher())
    } else if algorithm == .crc32 {
      engine = .crc32
    } else {
      guard let state = XXH3_createState() else { throw Self.noState }
      engine = algorithm == .xxh3 ? .xxh3(state) : .xxh128(state)
    }
  }

  deinit {
    switch engine {
    case .openssl(let context, _): EVP_MD_CTX_free(context)
    case .xxh3(let state), .xxh128(let state): XXH3_freeState(state)
    case .blake3, .crc32: break
    }
  }

  /// Adds the next bytes of the file.
  package func update(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    // zlib treats a null pointer as a request to start again.
    guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
    if !isStarted { try start() }
    switch engine {
    case .openssl(let context, _):
      try check(EVP_DigestUpdate(context, base, bytes.count))
    case .xxh3(let state):
      try check(XXH3_64bits_update(state, base, bytes.count) == XXH_OK ? 1 : 0)
    case .xxh128(let state):
      try check(XXH3_128bits_update(state, base, bytes.count) == XXH_OK ? 1 : 0)
    case .blake3(let hasher): hasher.update(bytes)
    case .crc32:
      checksum = crc32_z(checksum, base.assumingMemoryBound(to: UInt8.self), bytes.count)
    }
  }

  /// Adds bytes that another thread may read too.
  func update(_ bytes: RawSpan) throws(BatchError) {
    try bytes.withUnsafeBytes { (bytes) throws(BatchError) in try update(bytes) }
  }

  /// The digest of all bytes since the last digest or reset; the next bytes begin another file.
  package func finish() throws(BatchError) -> Digest {
    if !isStarted { try start() }
    isStarted = false
    switch engine {
    case .openssl(let context, _):
      return try Digest(algorithm) { buffer throws(BatchError) in
        let output = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        try check(EVP_DigestFinal_ex(context, output, nil))
      }
    case .xxh3(let state): return canonical(XXH3_64bits_digest(state))
    case .xxh128(let state): return canonical(XXH3_128bits_digest(state))
    case .blake3(let hasher): return hasher.finish()
    case .crc32: return canonical(checksum)
    }
  }

  /// Drops the bytes of a file that could not be read to its end.
  package func reset() {
    isStarted = false
  }

  /// The digest of a file that is completely in memory; drops bytes that were added before.
  package func digest(of bytes: UnsafeRawBufferPointer) throws(BatchError) -> Digest {
    isStarted = false
    switch engine {
    case .xxh3: return canonical(XXH3_64bits(bytes.baseAddress, bytes.count))
    case .xxh128: return canonical(XXH3_128bits(bytes.baseAddress, bytes.count))
    case .openssl, .blake3, .crc32:
      try update(bytes)
      return try finish()
    }
  }

  /// The digest of bytes that another thread may read too.
  func digest(of bytes: RawSpan) throws(BatchError) -> Digest {
    try bytes.withUnsafeBytes { (bytes) throws(BatchError) in try digest(of: bytes) }
  }

  private func start() throws(BatchError) {
    switch engine {
    case .openssl(let context, let method): try check(EVP_DigestInit_ex2(context, method, nil))
    case .xxh3(let state): try check(XXH3_64bits_reset(state) == XXH_OK ? 1 : 0)
    case .xxh128(let state): try check(XXH3_128bits_reset(state) == XXH_OK ? 1 : 0)
    case .blake3(let hasher): hasher.reset()
    case .crc32: checksum = 0
    }
    isStarted = true
  }

  // xxhsum prints and compares the big-endian form.

  private func canonical(_ value: XXH64_hash_t) -> Digest {
    Digest(algorithm) { $0.storeBytes(of: value.bigEndian, as: UInt64.self) }
  }

  private func canonical(_ value: XXH128_hash_t) -> Digest {
    Digest(algorithm) { buffer in
      buffer.storeBytes(of: value.high64.bigEndian, as: UInt64.self)
      buffer.storeBytes(of: value.low64.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
  }

  private func canonical(_ value: UInt) -> Digest {
    Digest(algorithm) { $0.storeBytes(of: UInt32(truncatingIfNeeded: value).bigEndian, as: UInt32.self) }
  }

  private func check(_ status: Int32) throws(BatchError) {
    guard status != 1 else { return }
    isStarted = false
    throw BatchError(
      .exhausted, "cannot compute \(algorithm.rawValue): \(FetchedDigests.lastError())")
  }

  private static var noState: BatchError {
    BatchError(.exhausted, "no memory for the state of a digest", remedy: .lowerConcurrency)
  }
}

extension Digest {
  /// The SHA-256 of bytes in memory.
  ///
  /// - Throws: as ``DigestStream/init(_:)``.
  package static func sha256(of bytes: [UInt8]) throws(BatchError) -> Digest {
    try DigestStream(.sha256).digest(of: bytes.span.bytes)
  }
}
