import BatchEngine
import CArchive

/// The output of a libarchive writer.
final class LibraryOutput {
  /// Collected bytes are passed to the stream when they reach this number.
  private static let enough = 1 << 20

  var bytes: [UInt8] = []
  /// While true, new bytes are dropped.
  var isClosed = false
  private let stream: (any ResultStream)?
  private var failure: BatchError?

  /// - Parameter stream: receives the bytes; nil to keep them.
  init(stream: (any ResultStream)? = nil) {
    self.stream = stream
  }

  /// Opens a writer with this collector as its output; the collector must exist longer than the writer.
  func open(_ archive: OpaquePointer) -> Int32 {
    // Bytes are passed on directly, without padding to blocks.
    archive_write_set_bytes_per_block(archive, 0)
    let write: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, UnsafeRawPointer?, Int) -> Int = {
      _, context, buffer, count in
      guard let context else { return -1 }
      let collector = Unmanaged<LibraryOutput>.fromOpaque(context).takeUnretainedValue()
      return collector.take(UnsafeRawBufferPointer(start: buffer, count: count)) ? count : -1
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
