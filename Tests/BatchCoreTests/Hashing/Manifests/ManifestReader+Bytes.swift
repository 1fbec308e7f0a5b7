@testable import BatchCore
@testable import BatchEngine

extension ManifestReader {
  /// All items that are found in these bytes, which are passed in pieces of a given length.
  static func items(
    in bytes: [UInt8], _ options: Options = Options(), pieces: Int = 1 << 16
  ) throws -> [ManifestItem] {
    var reader = ManifestReader(options)
    var items = [ManifestItem]()
    var position = 0
    while true {
      let item = try reader.next { buffer throws(BatchError) in
        let count = min(pieces, bytes.count - position, buffer.count)
        buffer.copyBytes(from: bytes[position..<position + count])
        position += count
        return count
      }
      guard let item else { return items }
      items.append(item)
    }
  }

  static func entries(in bytes: [UInt8], _ options: Options = Options()) throws -> [ManifestEntry] {
    try items(in: bytes, options).compactMap { if case .entry(let entry) = $0 { entry } else { nil } }
  }

  /// The numbers of the lines that are invalid rows.
  static func faults(in bytes: [UInt8], _ options: Options = Options()) throws -> [Int] {
    try items(in: bytes, options).compactMap { item in
      switch item {
      case .malformed(let line, _), .text(let line, _): line
      case .entry: nil
      }
    }
  }
}

extension Digest {
  /// The digest of these bytes.
  static func of(_ bytes: [UInt8], _ algorithm: DigestAlgorithm) throws -> Digest {
    let stream = try DigestStream(algorithm)
    return try bytes.withUnsafeBytes { buffer throws(BatchError) in try stream.digest(of: buffer) }
  }
}
