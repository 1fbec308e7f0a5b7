import CSHA256

/// Computes the SHA-256 of contents of any length, two at once on one core, if the processor has instructions for it.
///
/// Like ``MultiBufferDigests``, but without length limit and without a library that may be missing.
enum PairedDigests {
  static let isOffered = csha256_is_offered() != 0

  /// Writes the digests of these contents, 32 bytes each. Called only if ``isOffered``.
  static func compute(_ contents: [UnsafeRawBufferPointer], into digests: UnsafeMutablePointer<UInt8>) {
    let contents = contents.map { csha256_content(start: $0.baseAddress, count: $0.count) }
    csha256_compute(contents, contents.count, digests)
  }
}
