import BatchEngine
import Synchronization

@testable import BatchCore

/// A file in memory to which encrypted output is written.
final class MemoryFile: ResultStream {
  private let content = Mutex<[UInt8]>([])

  var bytes: [UInt8] { content.withLock { $0 } }

  func write(_ bytes: [UInt8]) throws(BatchError) { content.withLock { $0 += bytes } }

  func finish() throws(BatchError) {}

  /// Bytes encrypted with a lock, written in pieces.
  static func sealed(
    _ plain: [UInt8], for lock: AgeLock, width: Int = 1, piece: Int = 100_000
  ) throws -> [UInt8] {
    let file = MemoryFile()
    let output = try EncryptedOutput(file, for: lock, concurrency: ConcurrencyLimit(width))
    for start in stride(from: 0, to: plain.count, by: piece) {
      try output.write(Array(plain[start..<min(plain.count, start + piece)]))
    }
    try output.finish()
    return file.bytes
  }
}

extension [UInt8] {
  /// Reads at any place of the file.
  var reading: AgeFile.Reading {
    { (offset, room) throws(BatchError) in
      let start = Int(Swift.min(UInt64(self.count), offset))
      let count = Swift.min(room.count, self.count - start)
      room.copyBytes(from: self[start..<(start + count)])
      return count
    }
  }

  /// The content, decrypted by the reader of files.
  func opened(_ keys: AgeKeys, width: Int = 1) throws -> [UInt8] {
    let file = try AgeFile(size: UInt64(count), keys: keys, width: width, reading: reading)
    return try file.bytes(0..<Int(file.size))
  }

  /// The content, decrypted by the reader of streams, which gets `step` bytes at a time.
  func streamed(_ keys: AgeKeys, step: Int = 100_000) throws -> [UInt8] {
    var position = 0
    let stream = AgeStream { (room) throws(BatchError) in
      let count = Swift.min(step, room.count, self.count - position)
      room.copyBytes(from: self[position..<(position + count)])
      position += count
      return count
    }
    guard try stream.isEncrypted() else { throw BatchError(.malformed, "no file of age") }
    try stream.open(keys)
    var plain = [UInt8]()
    while true {
      let count = try stream.next { (piece) throws(BatchError) in
        plain += piece
        return piece.count
      }
      if count == 0 { return plain }
    }
  }
}

extension AgeFile {
  func bytes(_ range: Range<Int>) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: range.count)
    var failure: BatchError?
    var count = 0
    bytes.withUnsafeMutableBytes { room in
      do throws(BatchError) { count = try read(at: UInt64(range.lowerBound), into: room) } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return Array(bytes[..<count])
  }
}
