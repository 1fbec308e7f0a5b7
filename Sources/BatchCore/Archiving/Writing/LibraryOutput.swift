import BatchEngine
import CArchive

/// Where a writer of libarchive puts its bytes.
final class LibraryOutput {
  /// Collected bytes go on to the stream when they are so many.
  private static let enough = 1 << 20

  var bytes: [UInt8] = []
  /// While true, what comes is dropped.
  var isClosed = false
  private let stream: (any ResultStream)?
  private var failure: BatchError?

  /// - Parameter stream: takes the bytes; nil to keep them.
  init(stream: (any ResultStream)? = nil) {
    self.stream = stream
  }

  /// Opens a writer onto this collector, which has to outlive it.
  func open(_ archive: OpaquePointer) -> Int32 {
    // Passed on as it comes, without blocks that would be filled up.
    archive_write_set_bytes_per_block(archive, 0)
    let write: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, UnsafeRawPointer?, Int) -> Int = {
      _, context, buffer, count in
      guard let context else { return -1 }
      let collector = Unmanaged<LibraryOutput>.fromOpaque(context).takeUnretainedValue()
      return collector.take(UnsafeRawBufferPointer(start: buffer, count: count)) ? count : -1
    }
    return archive_write_open(archive, Unmanaged.passUnretained(self).toOpaque(), nil, write, nil)
  }

  /// - Throws: why the stream took no more.
  func check() throws(BatchError) {
    if let failure { throw failure }
  }

  /// Passes on what is left.
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
