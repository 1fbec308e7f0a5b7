import BatchEngine

/// The bytes of an archive that comes as a stream, without encryption.
final class ArchiveStream {
  private let stream: StreamReader
  private let keys: AgeKeys?
  private var decryption: AgeStream?
  private var hasBegun = false
  /// Bytes that were read but not returned yet.
  private var waiting: ArraySlice<UInt8> = []

  /// - Parameter keys: nil reads it without decryption.
  init(_ stream: StreamReader, _ keys: AgeKeys?) {
    self.stream = stream
    self.keys = keys
  }

  /// Reads the available bytes, at least one; returns 0 at the end.
  ///
  /// - Throws: the error of reading; the errors of ``AgeStream``.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int {
    if !hasBegun { try begin() }
    if waiting.isEmpty {
      guard let decryption else { return try stream.read(into: buffer) }
      waiting = try decryption.next { (piece) throws(BatchError) in Array(piece)[...] }
    }
    let count = min(waiting.count, buffer.count)
    buffer.copyBytes(from: waiting.prefix(count))
    waiting = waiting.dropFirst(count)
    return count
  }

  private func begin() throws(BatchError) {
    hasBegun = true
    guard let keys else { return }
    let stream = stream
    let found = AgeStream { (room) throws(BatchError) in try stream.read(into: room) }
    if try found.isEncrypted() {
      try found.open(keys)
      decryption = found
    } else {
      waiting = found.start[...]
    }
  }
}
