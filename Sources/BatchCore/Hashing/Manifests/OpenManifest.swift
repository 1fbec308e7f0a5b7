import BatchEngine
import Glibc

/// A manifest that is being read.
final class OpenManifest {
  let path: PathBytes
  let isStandardInput: Bool
  private let descriptor: Descriptor?
  private let stream: StreamReader
  private var reader: ManifestReader

  /// - Throws: `missing` or `unreadable` with the path.
  init(
    _ path: PathBytes, options: ManifestReader.Options, in context: SourceContext
  ) throws(BatchError) {
    self.path = path
    isStandardInput = path == "-"
    reader = ManifestReader(options)
    if isStandardInput {
      descriptor = nil
      stream = StreamReader(descriptor: STDIN_FILENO, cancellation: context.cancellation)
      return
    }
    guard !path.isEmpty, !path.containsNUL else {
      throw BatchError(.missing, "an operand is the empty name", path: path)
    }
    // A FIFO that nobody writes to would not open.
    let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY
    let number = path.withCString { context.calls.open($0, at: AT_FDCWD, flags: flags) }
    guard number >= 0 else { throw .syscall("open", errno: -number, path: path) }
    descriptor = Descriptor(owning: number)
    stream = StreamReader(descriptor: number, cancellation: context.cancellation)
  }

  /// What it is written in, when a row was there.
  var format: ManifestFormat? { reader.format }

  /// The next entry or bad line; nil at the end.
  func next() throws(BatchError) -> ManifestItem? {
    let stream = stream
    return try reader.next { (buffer) throws(BatchError) in try stream.read(into: buffer) }
  }
}
