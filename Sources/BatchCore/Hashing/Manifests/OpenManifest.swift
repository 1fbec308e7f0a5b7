import BatchEngine
import var Glibc.STDIN_FILENO

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
    let file = try context.calls.openFile(path, followingLast: true)
    stream = StreamReader(descriptor: file.raw, cancellation: context.cancellation)
    descriptor = consume file
  }

  /// The format, after the first row.
  var format: ManifestFormat? { reader.format }

  /// The next entry or invalid line; nil at the end.
  func next() throws(BatchError) -> ManifestItem? {
    let stream = stream
    return try reader.next { (buffer) throws(BatchError) in try stream.read(into: buffer) }
  }
}
