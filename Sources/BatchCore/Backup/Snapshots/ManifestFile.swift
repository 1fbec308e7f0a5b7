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

/// The decrypted bytes of a backup manifest.
final class ManifestContent {
  private let path: PathBytes
  private let descriptor: Descriptor
  private let calls: any FileSystemCalls
  /// Nil for a manifest that is not encrypted.
  private let decrypted: AgeFile?
  private var position: UInt64 = 0

  /// - Throws: the error of opening it; `malformed` for anything but a regular file; the errors of ``AgeFile`` for an encrypted one.
  init(_ file: ManifestFile, in context: SourceContext) throws(BatchError) {
    path = file.path
    calls = context.calls
    let opened = try context.calls.openFile(file.path, followingLast: false)
    let kind = try context.calls.status(of: opened).kind
    guard kind == .regular else {
      throw BatchError(.malformed, "is \(kind.text), not a regular file", path: file.path)
    }
    guard let keys = file.keys else {
      decrypted = nil
      descriptor = consume opened
      return
    }
    let size = UInt64(max(0, try context.calls.status(of: opened).size))
    let (raw, calls, path) = (opened.raw, context.calls, file.path)
    let reading: AgeFile.Reading = { (offset, room) throws(BatchError) in
      try calls.fill(room, from: raw, at: offset, path: path)
    }
    do throws(BatchError) {
      let stream = AgeStream(reading: AgeFile.sequence(reading))
      if try stream.isEncrypted() {
        decrypted = try AgeFile(size: size, keys: keys, reading: reading)
      } else {
        decrypted = nil
      }
    } catch {
      throw error.path == nil ? error.at(path) : error
    }
    descriptor = consume opened
  }

  /// The size in bytes.
  func size() throws(BatchError) -> Int64 {
    if let decrypted { return Int64(clamping: decrypted.size) }
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
    guard let decrypted else { return try calls.fill(room, from: descriptor.raw, at: offset, path: path) }
    do throws(BatchError) {
      return try decrypted.read(at: offset, into: room)
    } catch {
      throw error.path == nil ? error.at(path) : error
    }
  }
}
