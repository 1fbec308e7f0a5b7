import BatchEngine

/// Tests the parallel computation before it is used: compares its digests with those of libcrypto.
enum MultiBufferTrial {
  typealias Compute = ([UnsafeRawBufferPointer], UnsafeMutablePointer<UInt8>) -> Bool

  /// All lengths of up to three blocks, then longer ones mixed with short ones, also at the borders of blocks.
  private static func counts(longest: Int) -> [Int] {
    (Array(0...192) + [4_095, 1, 4_096, 0, 4_097, 64, longest, 55, longest - 1, 56, longest / 2])
      .filter { (0...longest).contains($0) }
  }

  /// - Throws: `unsupported` if a digest differs.
  static func check(longest: Int, _ compute: Compute) throws(BatchError) {
    let counts = counts(longest: longest)
    // Each content begins at a different offset of the same bytes.
    let bytes = (0..<(longest + counts.count)).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ $0 >> 7) }
    let stream = try DigestStream(.sha256)
    let isRight = try withBytes(of: bytes) { (raw) throws(BatchError) in
      let contents = counts.enumerated().map { UnsafeRawBufferPointer(rebasing: raw[$0..<($0 + $1)]) }
      var digests = [UInt8](repeating: 0, count: contents.count * 32)
      let isComputed = digests.withUnsafeMutableBufferPointer { digests in
        digests.baseAddress.map { compute(contents, $0) } ?? false
      }
      guard isComputed else { return false }
      for (index, content) in contents.enumerated() {
        let expected = try stream.digest(of: content)
        guard Digest(.sha256, bytes: digests[(index * 32)..<(index * 32 + 32)]) == expected else {
          return false
        }
      }
      return true
    }
    guard isRight else {
      throw BatchError(.unsupported, "failed its self-test: its digests differ from libcrypto")
    }
  }
}
