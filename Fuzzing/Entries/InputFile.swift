import Glibc

/// To be removed.
private nonisolated(unsafe) var namedFiles: [String] = []

/// A file in memory that holds one input after the other.
final class InputFile {
  let descriptor: Int32
  /// Opens it again.
  let path: String

  /// - Parameter isNamed: whether the path is no link, for what follows none; the file goes at the end of the process.
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

  /// - Returns: whether the file holds these bytes alone now.
  func hold(_ bytes: UnsafeRawBufferPointer) -> Bool {
    ftruncate(descriptor, 0) == 0 && pwrite(descriptor, bytes.baseAddress, bytes.count, 0) == bytes.count
  }
}

/// The input in pieces of some sizes, as read(2) gives them.
struct InputPieces {
  private let bytes: UnsafeRawBufferPointer
  private let most: Int
  private var position = 0

  init(_ bytes: UnsafeRawBufferPointer, most: Int) {
    self.bytes = bytes
    self.most = most
  }

  /// - Returns: how many bytes there are now at the start of the buffer, 0 at the end.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(most, buffer.count, bytes.count - position)
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[position..<(position + count)]))
    position += count
    return count
  }
}
