import BatchEngine

/// The path of a backup manifest, and the keys if it is encrypted.
package struct ManifestFile: Sendable {
  package let path: PathBytes
  /// Nil for a manifest that is read without decryption.
  let keys: AgeKeys?

  package init(_ path: PathBytes, keys: AgeKeys? = nil) {
    self.path = path
    self.keys = keys
  }
}

/// The decrypted and decompressed bytes of a backup manifest.
final class ManifestContent {
  private let path: PathBytes
  private let descriptor: Descriptor
  private let calls: any FileSystemCalls
  /// Nil for a manifest that is not encrypted.
  private let decrypted: AgeFile?
  /// Nil for a manifest that is not compressed.
  private let frames: ManifestFrames?
  private var position: UInt64 = 0

  /// - Parameter isRaw: whether the bytes of the file itself are read.
  /// - Throws: the error of opening it; `malformed` for anything but a regular file; the errors of ``AgeFile`` for an encrypted one.
  init(_ file: ManifestFile, isRaw: Bool = false, in context: SourceContext) throws(BatchError) {
    path = file.path
    calls = context.calls
    let opened = try context.calls.openFile(file.path, followingLast: false)
    let status = try context.calls.status(of: opened)
    guard status.kind == .regular else {
      throw BatchError(.malformed, "is \(status.kind.text), not a regular file", path: file.path)
    }
    let (raw, calls, path) = (opened.raw, context.calls, file.path)
    let reading: AgeFile.Reading = { (offset, room) throws(BatchError) in
      try calls.fill(room, from: raw, at: offset, path: path)
    }
    let size = UInt64(max(0, status.size))
    do throws(BatchError) {
      let decrypted = try isRaw ? nil : Self.decrypted(size, file.keys, reading)
      self.decrypted = decrypted
      frames =
        try isRaw
        ? nil
        : Self.frames(decrypted?.size ?? size, context.options.memory) {
          (offset, room) throws(BatchError) in
          if let decrypted { return try decrypted.read(at: offset, into: room) }
          return try reading(offset, room)
        }
    } catch {
      throw error.path == nil ? error.at(path) : error
    }
    descriptor = consume opened
  }

  private static func decrypted(
    _ size: UInt64, _ keys: AgeKeys?, _ reading: @escaping AgeFile.Reading
  ) throws(BatchError) -> AgeFile? {
    guard let keys else { return nil }
    let stream = AgeStream(reading: AgeFile.sequence(reading))
    return try stream.isEncrypted() ? AgeFile(size: size, keys: keys, reading: reading) : nil
  }

  /// - Returns: nil for content that is not compressed: that of schema 1 begins with a brace.
  private static func frames(
    _ size: UInt64, _ memory: Int, _ reading: @escaping AgeFile.Reading
  ) throws(BatchError) -> ManifestFrames? {
    let read: (Range<UInt64>) throws(BatchError) -> [UInt8] = { (range) throws(BatchError) in
      try [UInt8](upTo: range.count) { (room) throws(BatchError) in try reading(range.lowerBound, room) }
    }
    var start = LittleEndianReader(try read(0..<4)[...])
    guard start.number(UInt32.self) == ZstdCodec.magic else { return nil }
    return try ManifestFrames(size: size, memory: memory, by: read)
  }

  /// The size in bytes.
  func size() throws(BatchError) -> Int64 {
    if let size = frames?.size ?? decrypted?.size { return Int64(clamping: size) }
    return try calls.status(of: descriptor).size
  }

  /// Reads the next bytes; returns 0 at the end.
  func next(into buffer: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int {
    let count = try read(at: position, into: buffer)
    position += UInt64(count)
    return count
  }

  /// Continues ``next(into:)`` at an offset.
  func seek(to offset: UInt64) { position = offset }

  /// The bytes of a range; fewer at the end of the file.
  func bytes(_ range: Range<Int64>) throws(BatchError) -> [UInt8] {
    let start = UInt64(max(0, range.lowerBound))
    return try [UInt8](upTo: range.count) { (room) throws(BatchError) in try read(at: start, into: room) }
  }

  /// Passes on all bytes in pieces of up to 4 MiB.
  func forEachPiece(
    _ cancellation: Cancellation, _ take: ([UInt8]) throws(BatchError) -> Void
  ) throws(BatchError) {
    var position: Int64 = 0
    while true {
      try cancellation.check()
      let piece = try bytes(position..<(position + (4 << 20)))
      if piece.isEmpty { return }
      try take(piece)
      position += Int64(piece.count)
    }
  }

  private func read(
    at offset: UInt64, into room: UnsafeMutableRawBufferPointer
  ) throws(BatchError) -> Int {
    do throws(BatchError) {
      if let frames { return try frames.read(at: offset, into: room) }
      if let decrypted { return try decrypted.read(at: offset, into: room) }
      return try calls.fill(room, from: descriptor.raw, at: offset, path: path)
    } catch {
      throw error.path == nil ? error.at(path) : error
    }
  }
}
