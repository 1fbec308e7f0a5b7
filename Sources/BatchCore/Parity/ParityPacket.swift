import BatchEngine

/// A packet of PAR2 2.0: a header of 64 bytes, and a body.
///
/// https://parchive.sourceforge.net/docs/specifications/parity-volume-spec/article-spec.html
package struct ParityPacket: Sendable {
  package enum Kind: String, Sendable, CaseIterable {
    case main = "PAR 2.0\0Main\0\0\0\0"
    case file = "PAR 2.0\0FileDesc"
    case checksums = "PAR 2.0\0IFSC\0\0\0\0"
    case recovery = "PAR 2.0\0RecvSlic"
    case creator = "PAR 2.0\0Creator\0"
  }

  static let magic = Array("PAR2\0PKT".utf8)
  static let headerSize = 64
  /// Where the bytes begin that the MD5 of a packet covers.
  static let hashedFrom = 32
  /// The size of the header of a recovery packet with its exponent.
  static let recoveryHeaderSize = headerSize + 4
  /// The most blocks of a set.
  package static let mostBlocks = 32_768
  /// The most recovery blocks of a set.
  package static let mostRecoveryBlocks = 65_535

  let kind: Kind
  let set: ParityHash
  let body: [UInt8]

  /// - Throws: as ``ParityHash/init(of:)``.
  func bytes() throws(BatchError) -> [UInt8] {
    let hashed = set.bytes + Array(kind.rawValue.utf8) + body
    return Self.start(bodySize: body.count, hash: try ParityHash(of: hashed)) + hashed
  }

  /// The first 32 bytes of a packet.
  static func start(bodySize: Int, hash: ParityHash) -> [UInt8] {
    magic + UInt64(headerSize + bodySize).littleEndianBytes + hash.bytes
  }

  // MARK: Bodies

  /// - Parameter files: sorted.
  static func mainBody(blockSize: Int, files: [ParityHash]) -> [UInt8] {
    UInt64(blockSize).littleEndianBytes + UInt32(files.count).littleEndianBytes + files.flatMap(\.bytes)
  }

  static func fileBody(_ file: ParityFile) -> [UInt8] {
    file.id.bytes + file.hash.bytes + file.beginning.bytes + file.size.littleEndianBytes
      + padded(file.name.bytes)
  }

  static func checksumBody(_ file: ParityHash, _ blocks: [BlockChecksum]) -> [UInt8] {
    var body = file.bytes
    body.reserveCapacity(16 + 20 * blocks.count)
    for block in blocks { body += block.hash.bytes + block.check.littleEndianBytes }
    return body
  }

  static func creatorBody(_ text: String) -> [UInt8] { padded(Array(text.utf8)) }

  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
  }
}

/// A file that a set describes.
package struct ParityFile: Sendable {
  let id: ParityHash
  /// The MD5 of the whole file.
  let hash: ParityHash
  /// The MD5 of the first 16 KiB.
  let beginning: ParityHash
  package let size: UInt64
  /// As in the packet: not yet checked as a path.
  package let name: PathBytes

  static let beginningSize = 16 << 10

  /// The identity that the format derives from beginning, size and name.
  static func id(beginning: ParityHash, size: UInt64, name: [UInt8]) throws(BatchError) -> ParityHash {
    try ParityHash(of: beginning.bytes + size.littleEndianBytes + name)
  }

  /// How many blocks the file has; nil if they are too many to count.
  func blockCount(of blockSize: UInt64) -> Int? {
    guard blockSize > 0 else { return nil }
    return Int(exactly: size / blockSize + (size % blockSize == 0 ? 0 : 1))
  }
}

extension FixedWidthInteger {
  var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}
