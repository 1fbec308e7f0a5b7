import BatchEngine
import Dispatch
import Synchronization

/// The decrypted bytes of an encrypted file, with random access.
///
/// The last chunk is decrypted first, so that a truncated file is detected before any byte is returned.
package final class AgeFile: Sendable {
  /// Fills the memory with the bytes of the file from an offset; fewer only at the end of the file.
  package typealias Reading =
    @Sendable (UInt64, UnsafeMutableRawBufferPointer) throws(BatchError) -> Int

  /// The last used chunks, for many small reads near each other.
  private static let mostKept = 4
  /// Chunks that one thread reads and decrypts at a time.
  private static let run = 16

  private let layout: PayloadLayout
  private let key: PayloadKey
  private let reading: Reading
  private let width: Int
  private let kept = Mutex<[(number: UInt64, bytes: [UInt8])]>([])

  /// Reads the header of a file, and decrypts its last chunk.
  ///
  /// - Parameters:
  ///   - size: the size of the file in bytes.
  ///   - width: how many threads may decrypt chunks for one call.
  /// - Throws: `malformed` for a damaged file; `unsupported` when no key decrypts it.
  package convenience init(
    size: UInt64, keys: AgeKeys, width: Int = 1, reading: @escaping Reading
  ) throws(BatchError) {
    let header = try AgeHeader.read(by: reading)
    let fileKey = try keys.fileKey(of: header)
    let nonce = try Self.bytes(at: UInt64(header.size), count: PayloadLayout.nonceSize, reading)
    guard nonce.count == PayloadLayout.nonceSize else { throw PayloadLayout.cutOff }
    try self.init(
      layout: PayloadLayout(start: UInt64(header.size + PayloadLayout.nonceSize), end: size),
      key: PayloadKey(fileKey, nonce: nonce), width: width, reading: reading)
  }

  init(
    layout: PayloadLayout, key: PayloadKey, width: Int = 1, reading: @escaping Reading
  ) throws(BatchError) {
    self.layout = layout
    self.key = key
    self.width = max(1, width)
    self.reading = reading
    _ = try chunk(layout.chunkCount - 1)
  }

  /// The size after decryption.
  package var size: UInt64 { layout.size }

  /// Fills the memory with the decrypted bytes from an offset; fewer only at their end.
  ///
  /// - Throws: `malformed` if the authentication of a chunk fails.
  package func read(at offset: UInt64, into room: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int {
    guard offset < layout.size else { return 0 }
    let count = Int(min(UInt64(room.count), layout.size - offset))
    var filled = 0
    while filled < count {
      let position = offset + UInt64(filled)
      let rest = UnsafeMutableRawBufferPointer(rebasing: room[filled..<count])
      let number = position / UInt64(PayloadLayout.chunkSize)
      let inside = Int(position % UInt64(PayloadLayout.chunkSize))
      if inside == 0, rest.count >= layout.plainSize(of: number) {
        filled += try open(from: number, into: rest)
      } else {
        let bytes = try chunk(number)[inside...].prefix(rest.count)
        rest.copyBytes(from: bytes)
        filled += bytes.count
      }
    }
    return count
  }

  // MARK: Chunks

  /// Decrypts the whole chunks that fit.
  ///
  /// - Returns: how many bytes were decrypted.
  private func open(from first: UInt64, into room: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int {
    let full = room.count / PayloadLayout.chunkSize
    let last = layout.chunkCount - 1
    let endsFile =
      first + UInt64(full) == last
      && room.count - full * PayloadLayout.chunkSize >= layout.plainSize(of: last)
    let count = endsFile ? full + 1 : full
    let size = full * PayloadLayout.chunkSize + (endsFile ? layout.plainSize(of: last) : 0)
    let runs = (count + Self.run - 1) / Self.run
    nonisolated(unsafe) let room = room
    let failure = Mutex<(run: Int, error: BatchError)?>(nil)
    @Sendable func open(run: Int) {
      let start = run * Self.run
      let place = start * PayloadLayout.chunkSize
      do throws(BatchError) {
        try openRun(
          from: first + UInt64(start), count: min(Self.run, count - start),
          into: UnsafeMutableRawBufferPointer(rebasing: room[place..<size]))
      } catch {
        failure.withLock { if ($0?.run ?? .max) > run { $0 = (run, error) } }
      }
    }
    let lanes = min(width, runs)
    if lanes == 1 {
      for run in 0..<runs where failure.withLock({ $0 == nil }) { open(run: run) }
    } else {
      DispatchQueue.concurrentPerform(iterations: lanes) { lane in
        for run in stride(from: lane, to: runs, by: lanes) { open(run: run) }
      }
    }
    if let error = failure.withLock({ $0?.error }) { throw error }
    return size
  }

  private func openRun(
    from first: UInt64, count: Int, into room: UnsafeMutableRawBufferPointer
  ) throws(BatchError) {
    let last = first + UInt64(count) - 1
    let size =
      (count - 1) * PayloadLayout.sealedSize + layout.plainSize(of: last) + Primitives.tagSize
    let sealed = try Self.bytes(at: layout.sealedStart(of: first), count: size, reading)
    guard sealed.count == size else { throw PayloadLayout.cutOff }
    let cipher = try ChunkCipher(key.secret)
    for index in 0..<count {
      let number = first + UInt64(index)
      let (from, to) = (index * PayloadLayout.sealedSize, index * PayloadLayout.chunkSize)
      let plain = layout.plainSize(of: number)
      let isRight = try withBytes(of: sealed) { (raw) throws(BatchError) in
        try cipher.open(
          UnsafeRawBufferPointer(rebasing: raw[from..<(from + plain + Primitives.tagSize)]),
          into: UnsafeMutableRawBufferPointer(rebasing: room[to..<(to + plain)]),
          nonce: layout.nonce(of: number))
      }
      guard isRight else {
        // The content of the other chunks of the call is not returned either.
        room.initializeMemory(as: UInt8.self, repeating: 0)
        throw failure(of: number)
      }
    }
  }

  private func failure(of chunk: UInt64) -> BatchError {
    let start = layout.sealedStart(of: chunk)
    let end = start + UInt64(layout.plainSize(of: chunk) + Primitives.tagSize)
    return AgeDamage.payload(
      chunk == layout.chunkCount - 1
        ? "the last piece of the encrypted file fails its check (it is cut off, has bytes after its end, or bytes \(start) to \(end) are wrong)"
        : "a piece of the encrypted file fails its check (bytes \(start) to \(end))")
  }

  private func chunk(_ number: UInt64) throws(BatchError) -> [UInt8] {
    if let known = kept.withLock({ $0.first { $0.number == number } }) { return known.bytes }
    var bytes = [UInt8](repeating: 0, count: layout.plainSize(of: number))
    try withMutableBytes(of: &bytes) { (room) throws(BatchError) in
      try openRun(from: number, count: 1, into: room)
    }
    kept.withLock { [bytes] kept in
      // The last chunk contains the end of an index, which is read again, so it is kept.
      if kept.count >= Self.mostKept { kept.remove(at: 1) }
      kept.append((number, bytes))
    }
    return bytes
  }

  /// Reads a file sequentially, like a stream.
  package static func sequence(_ reading: @escaping Reading) -> AgeStream.Reading {
    var position: UInt64 = 0
    return { (room) throws(BatchError) in
      let count = try reading(position, room)
      position += UInt64(count)
      return count
    }
  }

  fileprivate static func bytes(at offset: UInt64, count: Int, _ reading: Reading) throws(BatchError)
    -> [UInt8]
  {
    try [UInt8](upTo: count) { (room) throws(BatchError) in try reading(offset, room) }
  }
}

extension AgeHeader {
  /// The header at the beginning of a file; it is not authenticated yet.
  ///
  /// - Throws: `malformed` for a damaged one.
  static func read(by reading: AgeFile.Reading) throws(BatchError) -> AgeHeader {
    var start = [UInt8]()
    var reader = AgeHeaderReader()
    while true {
      let wanted = min(max(4096, start.count), largest)
      let piece = try AgeFile.bytes(at: UInt64(start.count), count: wanted, reading)
      start += piece
      if let header = try reader.read(start, isAll: piece.count < wanted) { return header }
      guard !piece.isEmpty else { throw PayloadLayout.cutOff }
    }
  }
}
