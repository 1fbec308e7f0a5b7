import Glibc

/// The files to remove at the end of the process.
private nonisolated(unsafe) var namedFiles: [String] = []

/// A file in memory that holds one input after the other.
final class InputFile {
  let descriptor: Int32
  /// A path that opens the file again.
  let path: String

  /// - Parameter isNamed: whether the path must not be a link, for functions that do not follow links; the
  ///   file is removed at the end of the process.
  init(isNamed: Bool = false) {
    var name = Array("/dev/shm/batchproc-fuzz-XXXXXX".utf8CString)
    descriptor = mkstemp(&name)
    guard isNamed else {
      unlink(name)
      path = "/proc/self/fd/\(descriptor)"
      return
    }
    path = name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    namedFiles.append(path)
    if namedFiles.count == 1 { atexit { for path in namedFiles { unlink(path) } } }
  }

  /// - Returns: whether the file now contains exactly these bytes.
  func hold(_ bytes: UnsafeRawBufferPointer) -> Bool {
    ftruncate(descriptor, 0) == 0 && pwrite(descriptor, bytes.baseAddress, bytes.count, 0) == bytes.count
  }
}

/// The input in pieces of varying size, as read(2) may return them.
struct InputPieces {
  private let bytes: UnsafeRawBufferPointer
  private let most: Int
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer, most: Int) {
    self.bytes = bytes
    self.most = most
  }

  /// - Returns: the number of bytes that were written to the start of the buffer; 0 at the end.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(most, buffer.count, bytes.count - position)
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[position..<(position + count)]))
    position += count
    return count
  }
}
