import BatchEngine

/// Decrypts a file or standard input, from the beginning to the end.
package final class DecryptedContent {
  /// Bytes that several threads decrypt at once.
  private static let pieceSize = 4 << 20

  private let file: Descriptor?
  /// The content of a file with random access.
  private let content: AgeFile?
  private var position: UInt64 = 0
  private let stream: AgeStream?

  /// - Parameters:
  ///   - path: `-` is standard input.
  ///   - width: how many threads may decrypt chunks.
  /// - Throws: the error of opening it; `unsupported` if it is not encrypted, or no key decrypts it; `malformed`.
  package init(
    _ path: PathBytes, keys: AgeKeys, width: Int, in run: RunContext
  ) throws(BatchError) {
    if path == "-" {
      let input = StreamReader(descriptor: 0, cancellation: run.cancellation)
      let stream = AgeStream { (room) throws(BatchError) in try input.read(into: room) }
      guard try stream.isEncrypted() else { throw Self.other.at(path) }
      try stream.open(keys)
      file = nil
      content = nil
      self.stream = stream
      return
    }
    let opened = try run.calls.openFile(path, followingLast: true)
    let status = try run.calls.status(of: opened)
    guard status.kind != .directory else {
      throw BatchError(.special, "is a directory, and no encrypted file", path: path)
    }
    let (raw, calls) = (opened.raw, run.calls)
    let reading: AgeFile.Reading = { (offset, room) throws(BatchError) in
      try calls.fill(room, from: raw, at: offset, path: path)
    }
    let stream: AgeStream
    if status.kind == .regular {
      stream = AgeStream(reading: AgeFile.sequence(reading))
    } else {
      let input = StreamReader(descriptor: raw, cancellation: run.cancellation)
      stream = AgeStream { (room) throws(BatchError) in try input.read(into: room) }
    }
    guard try stream.isEncrypted() else { throw Self.other.at(path) }
    if status.kind == .regular, !stream.isArmored {
      content = try AgeFile(size: UInt64(max(0, status.size)), keys: keys, width: width, reading: reading)
      self.stream = nil
    } else {
      try stream.open(keys)
      content = nil
      self.stream = stream
    }
    file = consume opened
  }

  private static let other = BatchError(.unsupported, "is not an age file")

  /// The next bytes, empty at the end.
  ///
  /// - Throws: `malformed` if the authentication of a chunk fails.
  package func next() throws(BatchError) -> [UInt8] {
    if let stream { return try stream.next { (piece) throws(BatchError) in Array(piece) } }
    guard let content, position < content.size else { return [] }
    let from = position
    let piece = try [UInt8](upTo: Int(min(UInt64(Self.pieceSize), content.size - from))) {
      (room) throws(BatchError) in try content.read(at: from, into: room)
    }
    position += UInt64(piece.count)
    return piece
  }
}
