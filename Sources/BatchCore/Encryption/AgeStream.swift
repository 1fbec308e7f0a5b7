import BatchEngine

/// Decrypts a stream from its beginning to its end; removes armor.
package final class AgeStream {
  /// Reads bytes into the memory, at least one; returns 0 at the end.
  package typealias Reading = (UnsafeMutableRawBufferPointer) throws(BatchError) -> Int

  private static let pieceSize = 256 << 10

  private let reading: Reading
  private var armor: ArmorDecoder?
  /// Bytes that were read but not decrypted, from `first` on.
  private var sealed: [UInt8]
  private var first = 0
  private var isAtEnd = false
  private var piece = [UInt8](repeating: 0, count: pieceSize)
  private var plain = [UInt8](repeating: 0, count: PayloadLayout.chunkSize)
  private var cipher: ChunkCipher?
  private var number: UInt64 = 0
  private var isFinished = false

  /// - Parameter start: bytes that were already read.
  package init(start: [UInt8] = [], reading: @escaping Reading) {
    sealed = start
    self.reading = reading
  }

  /// Whether the stream is encrypted. Called first.
  package func isEncrypted() throws(BatchError) -> Bool {
    while sealed.count < AgeKeys.detectionLength || isSpace, !isAtEnd { try fill() }
    return AgeKeys.areNeeded(for: sealed) || isArmored
  }

  /// Whether all bytes so far may stand before armor.
  private var isSpace: Bool { sealed.count <= ArmorDecoder.mostSpace && spaceCount == sealed.count }

  /// How many bytes of white space are at the start; not counted beyond the limit.
  private var spaceCount: Int {
    sealed.prefix(ArmorDecoder.mostSpace + 1).prefix { [0x20, 0x09, 0x0D, 0x0A].contains($0) }.count
  }

  var isArmored: Bool { sealed[spaceCount...].starts(with: ArmorDecoder.header) }

  /// The bytes that were read from an unencrypted stream.
  package var start: [UInt8] { sealed }

  /// Reads the header, which is authenticated before anything else is used.
  ///
  /// - Throws: `malformed` for a damaged stream; `unsupported` when no key decrypts it.
  package func open(_ keys: AgeKeys) throws(BatchError) {
    if isArmored {
      var decoder = ArmorDecoder()
      var bytes = [UInt8]()
      try decoder.add(sealed, to: &bytes)
      if isAtEnd { try decoder.finish(to: &bytes) }
      (sealed, armor) = (bytes, decoder)
    }
    var reader = AgeHeaderReader()
    var header: AgeHeader?
    while header == nil {
      header = try reader.read(sealed, isAll: isAtEnd)
      if header == nil { try fill() }
    }
    guard let header else { return }
    let fileKey = try keys.fileKey(of: header)
    while sealed.count < header.size + PayloadLayout.nonceSize, !isAtEnd { try fill() }
    guard sealed.count >= header.size + PayloadLayout.nonceSize else { throw PayloadLayout.cutOff }
    first = header.size + PayloadLayout.nonceSize
    cipher = try ChunkCipher(PayloadKey(fileKey, nonce: Array(sealed[header.size..<first])).secret)
  }

  /// The next bytes, empty at the end; valid until the next call.
  ///
  /// - Throws: `malformed` if the authentication of a chunk fails.
  package func next<Result>(
    _ body: (UnsafeRawBufferPointer) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    let count = try openNext()
    return try withBytes(of: plain) { (raw) throws(BatchError) in
      try body(UnsafeRawBufferPointer(rebasing: raw[..<count]))
    }
  }

  private func openNext() throws(BatchError) -> Int {
    guard let cipher, !isFinished else { return 0 }
    // A chunk is the last one when no byte follows it.
    while sealed.count - first <= PayloadLayout.sealedSize, !isAtEnd { try fill() }
    let count = min(PayloadLayout.sealedSize, sealed.count - first)
    let isLast = sealed.count - first <= PayloadLayout.sealedSize
    guard count > Primitives.tagSize || (count == Primitives.tagSize && number == 0) else {
      throw PayloadLayout.cutOff
    }
    let nonce = ChunkNonce(number: number, isLast: isLast)
    let isRight = try withMutableBytes(of: &plain) { (room) throws(BatchError) in
      try withBytes(of: sealed) { (raw) throws(BatchError) in
        try cipher.open(
          UnsafeRawBufferPointer(rebasing: raw[first..<(first + count)]),
          into: UnsafeMutableRawBufferPointer(rebasing: room[..<(count - Primitives.tagSize)]), nonce: nonce)
      }
    }
    guard isRight else {
      throw isLast
        ? PayloadLayout.cutOff
        : AgeDamage.payload("piece \(number + 1) of the encrypted file fails its check")
    }
    first += count
    number += 1
    isFinished = isLast
    return count - Primitives.tagSize
  }

  private func fill() throws(BatchError) {
    if first > 0 {
      sealed.removeFirst(first)
      first = 0
    }
    let count = try withMutableBytes(of: &piece) { (room) throws(BatchError) in try reading(room) }
    isAtEnd = count == 0
    guard armor != nil else { return sealed += piece[..<count] }
    try armor?.add(piece[..<count], to: &sealed)
    if isAtEnd { try armor?.finish(to: &sealed) }
  }
}
