import BatchEngine

/// Finds the whole packets in a file. What is damaged, cut or not a packet is passed over.
///
/// A packet counts only if its MD5 is right, so a forged size costs time, but no memory: bodies but those of recovery packets are
/// limited, and those are not kept.
package struct PacketScanner {
  /// A whole recovery packet.
  struct Recovery: Sendable, Hashable {
    let exponent: UInt32
    /// Where its data begin in the file.
    let offset: UInt64
    let size: UInt64
    let packet: ParityHash
  }

  enum Found {
    case packet(ParityPacket)
    case recovery(Recovery, set: ParityHash)
  }

  /// The longest body that is kept: the checksums of all blocks, or a path.
  private static let longestBody = 16 + 20 * ParityPacket.mostBlocks
  private static let pieceSize = 256 << 10
  /// Sizes that lead behind each other make a forged file expensive to read; the sum of what is read is limited to this many times
  /// its size.
  private static let mostReadings: UInt64 = 4

  private let size: UInt64
  private let fill: (UnsafeMutableRawBufferPointer, UInt64) throws(BatchError) -> Int
  private let check: () throws(BatchError) -> Void
  private let stream: DigestStream
  private var window = [UInt8](repeating: 0, count: pieceSize)
  private var budget: UInt64
  /// Whether recovery packets are passed over by their sizes alone, and only counted.
  private let skipsRecovery: Bool
  /// How many recovery packets were passed over.
  private(set) var skippedCount = 0
  /// Whether something in the file is no whole packet.
  private(set) var isDamaged = false

  /// - Parameters:
  ///   - size: of the file in bytes.
  ///   - skipsRecovery: whether recovery packets are passed over by their sizes alone, and only counted.
  ///   - fill: reads bytes at an offset, fewer only at the end. An error counts as damage.
  ///   - check: throws when the run is to stop.
  init(
    size: UInt64, skipsRecovery: Bool = false, check: @escaping () throws(BatchError) -> Void = {},
    fill: @escaping (UnsafeMutableRawBufferPointer, UInt64) throws(BatchError) -> Int
  ) throws(BatchError) {
    (self.size, self.fill, self.check, self.skipsRecovery) = (size, fill, check, skipsRecovery)
    stream = try DigestStream(.md5)
    budget =
      size.multipliedReportingOverflow(by: Self.mostReadings).overflow ? .max : size * Self.mostReadings
  }

  /// Scans the whole file.
  mutating func scan(_ take: (Found) throws(BatchError) -> Void) throws(BatchError) {
    var offset: UInt64 = 0
    while offset < size, size - offset >= UInt64(ParityPacket.headerSize) {
      try check()
      if let (found, end) = try packet(at: offset) {
        if let found { try take(found) }
        offset = end
      } else {
        isDamaged = true
        guard let next = try nextMagic(after: offset) else { return }
        offset = next
      }
    }
    if offset < size { isDamaged = true }
  }

  /// The whole packet at an offset; nil for none. A packet of an unknown kind has its end alone.
  private mutating func packet(at offset: UInt64) throws(BatchError) -> (Found?, end: UInt64)? {
    guard let header = read(ParityPacket.headerSize, at: offset), header.starts(with: ParityPacket.magic)
    else {
      return nil
    }
    let numbers = header.withUnsafeBytes { raw in
      (
        length: UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
        hash: ParityHash(UnsafeRawBufferPointer(rebasing: raw[16..<32])),
        set: ParityHash(UnsafeRawBufferPointer(rebasing: raw[32..<48]))
      )
    }
    guard numbers.length >= UInt64(ParityPacket.headerSize), numbers.length % 4 == 0,
      numbers.length <= size - offset, numbers.length <= budget
    else { return nil }
    budget -= numbers.length
    let end = offset + numbers.length
    let bodySize = numbers.length - UInt64(ParityPacket.headerSize)
    let kind = ParityPacket.Kind(rawValue: String(decoding: header[48..<64], as: UTF8.self))
    let body = offset + UInt64(ParityPacket.headerSize)
    if kind == .recovery, skipsRecovery {
      skippedCount += 1
      return (nil, end)
    }
    stream.reset()
    try withBytes(of: Array(header[ParityPacket.hashedFrom...])) { (bytes) throws(BatchError) in
      try stream.update(bytes)
    }
    guard let kind, kind != .recovery else {
      // Hashed in pieces, and not kept.
      guard try hash(body..<end) == numbers.hash else { return nil }
      guard kind == .recovery, bodySize >= 4, let start = read(4, at: body) else { return (nil, end) }
      let exponent = start.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)) }
      let recovery = Recovery(exponent: exponent, offset: body + 4, size: bodySize - 4, packet: numbers.hash)
      return (.recovery(recovery, set: numbers.set), end)
    }
    guard bodySize <= UInt64(Self.longestBody), let bytes = read(Int(bodySize), at: body) else { return nil }
    try withBytes(of: bytes) { (bytes) throws(BatchError) in try stream.update(bytes) }
    guard ParityHash(try stream.finish()) == numbers.hash else { return nil }
    return (.packet(ParityPacket(kind: kind, set: numbers.set, body: bytes)), end)
  }

  private mutating func hash(_ range: Range<UInt64>) throws(BatchError) -> ParityHash? {
    var offset = range.lowerBound
    while offset < range.upperBound {
      try check()
      let wanted = Int(min(UInt64(Self.pieceSize), range.upperBound - offset))
      guard readWindow(wanted, at: offset) == wanted else {
        stream.reset()
        return nil
      }
      try window.withUnsafeBytes { (bytes) -> Result<Void, BatchError> in
        Result { () throws(BatchError) in
          try stream.update(UnsafeRawBufferPointer(rebasing: bytes[..<wanted]))
        }
      }.get()
      offset += UInt64(wanted)
    }
    return ParityHash(try stream.finish())
  }

  /// The next place that looks like a packet.
  private mutating func nextMagic(after offset: UInt64) throws(BatchError) -> UInt64? {
    var position = offset + 1
    while position < size {
      try check()
      let count = readWindow(Self.pieceSize, at: position)
      if count == 0 {
        // A page that cannot be read is passed over.
        position += min(UInt64(4096), size - position)
        continue
      }
      guard count >= ParityPacket.magic.count else { return nil }
      for index in 0...(count - ParityPacket.magic.count)
      where window[index] == ParityPacket.magic[0]
        && window[index..<(index + ParityPacket.magic.count)].elementsEqual(ParityPacket.magic)
      {
        return position + UInt64(index)
      }
      position += UInt64(count - ParityPacket.magic.count + 1)
    }
    return nil
  }

  /// - Returns: how many bytes could be read.
  private mutating func readWindow(_ count: Int, at offset: UInt64) -> Int {
    let fill = fill
    return
      (try? withMutableBytes(of: &window) { (bytes) throws(BatchError) in
        try fill(UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]), offset)
      }) ?? 0
  }

  private func read(_ count: Int, at offset: UInt64) -> [UInt8]? {
    let bytes = try? [UInt8](upTo: count) { (room) throws(BatchError) in try fill(room, offset) }
    return bytes?.count == count ? bytes : nil
  }
}
