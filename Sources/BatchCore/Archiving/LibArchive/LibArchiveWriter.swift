import BatchEngine
import CArchive

/// A writer of libarchive, and the bytes that it writes.
final class LibArchiveWriter {
  /// Collected bytes are passed to the stream when they reach this number.
  private static let enough = 1 << 20

  let archive: OpaquePointer
  var bytes: [UInt8] = []
  /// While true, new bytes are dropped.
  var isClosed = false
  private let stream: (any ResultStream)?
  private var failure: BatchError?

  /// - Parameter stream: receives the bytes; nil to keep them.
  /// - Throws: `exhausted` when memory is missing.
  init(stream: (any ResultStream)? = nil) throws(BatchError) {
    guard let archive = archive_write_new() else { throw .noCodecMemory }
    self.archive = archive
    self.stream = stream
  }

  deinit {
    // Otherwise freeing would finish the archive.
    archive_write_fail(archive)
    archive_write_free(archive)
  }

  /// Begins the archive, after its format and options were set.
  func open() -> Int32 {
    // Bytes are passed on directly, without padding to blocks.
    archive_write_set_bytes_per_block(archive, 0)
    let write: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, UnsafeRawPointer?, Int) -> Int = {
      _, context, buffer, count in
      guard let context else { return -1 }
      let writer = Unmanaged<LibArchiveWriter>.fromOpaque(context).takeUnretainedValue()
      return writer.take(UnsafeRawBufferPointer(start: buffer, count: count)) ? count : -1
    }
    return archive_write_open(archive, Unmanaged.passUnretained(self).toOpaque(), nil, write, nil)
  }

  /// - Throws: the error of the stream.
  func check() throws(BatchError) {
    if let failure { throw failure }
  }

  /// Passes on the remaining bytes.
  func drain() throws(BatchError) {
    try check()
    guard let stream, !bytes.isEmpty else { return }
    try stream.write(bytes)
    bytes.removeAll(keepingCapacity: true)
  }

  private func take(_ piece: UnsafeRawBufferPointer) -> Bool {
    if isClosed { return true }
    bytes.append(contentsOf: piece)
    guard stream != nil, bytes.count >= Self.enough else { return true }
    do throws(BatchError) {
      try drain()
      return true
    } catch {
      failure = error
      return false
    }
  }
}
