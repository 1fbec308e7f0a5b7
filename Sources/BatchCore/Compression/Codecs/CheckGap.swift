import BatchEngine

/// Why decoded content could not be compared with a checksum.
package enum CheckGap: Sendable, Hashable {
  /// The format has no checksum (compress(1), .lzma), or the file was written without one (zstd, lz4).
  case noChecksum
  /// xz: the file declares no check (0), or one that liblzma does not know (1 to 15).
  case xzCheck(UInt32)

  /// Text for messages, after the name of the file.
  package var message: String {
    switch self {
    case .noChecksum: "no checksum"
    case .xzCheck(0): "check cannot be verified: none"
    case .xzCheck(let type): "check cannot be verified: type \(type), unknown to liblzma"
    }
  }
}
