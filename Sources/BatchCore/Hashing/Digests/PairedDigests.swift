import CSHA256

/// SHA-256 of contents of any length, two at once on one core, where the processor has instructions for it.
///
/// As ``MultiBufferDigests``, whose library counts bytes in 16 bits and may be missing.
enum PairedDigests {
  static let isOffered = csha256_is_offered() != 0

  /// Writes the digests of these contents, 32 bytes each. To be called where ``isOffered``.
  static func compute(_ contents: [UnsafeRawBufferPointer], into digests: UnsafeMutablePointer<UInt8>) {
    let contents = contents.map { csha256_content(start: $0.baseAddress, count: $0.count) }
    csha256_compute(contents, contents.count, digests)
  }
}
