import Glibc

/// A character device that was named as an output, or a pipe that is already open. It is written directly and never replaced.
///
/// A named FIFO and the target of a link do not count as devices: such names are refused or replaced like files, and never
/// written through.
package final class SyncDevice: ResultStream {
  /// Where a shell names its open descriptors, as in `>(command)`.
  private static let descriptorFolders = ["/dev/fd/", "/proc/self/fd/"]
  private static let streams = ["/dev/stdout", "/dev/stderr"] as [PathBytes]

  package let isTerminal: Bool
  private let descriptor: Descriptor
  private let stream: StandardOutput

  /// Whether a path leads to such a device or pipe.
  package static func isOne(_ path: PathBytes) -> Bool {
    let isOpen =
      streams.contains(path) || descriptorFolders.contains { path.bytes.starts(with: $0.utf8) }
    guard let kind = (try? path.status(followingLinks: isOpen))?.kind else { return false }
    return kind == .characterDevice || (isOpen && kind == .fifo)
  }

  /// - Parameter filter: changes what is written to a terminal.
  /// - Returns: nil for anything else, and for what does not exist.
  /// - Throws: `unwritable`.
  package init?(
    _ path: PathBytes, calls: any FileSystemCalls, cancellation: Cancellation,
    terminalFilter filter: (@Sendable ([UInt8]) -> [UInt8])?
  ) throws(BatchError) {
    guard Self.isOne(path) else { return nil }
    let opened = path.withCString { calls.open($0, at: AT_FDCWD, flags: O_WRONLY | O_NONBLOCK | O_NOCTTY) }
    guard opened >= 0 else {
      throw BatchError.syscall("open the output", errno: -opened, path: path).recoded(.unwritable)
    }
    descriptor = Descriptor(owning: opened)
    let kind = (try? calls.status(of: descriptor))?.kind ?? .unknown
    guard kind == .characterDevice || kind == .fifo else {
      throw BatchError(.invalid, "cannot write the output: the file was replaced", path: path)
    }
    isTerminal = isatty(descriptor.raw) == 1
    stream = StandardOutput(
      descriptor: descriptor.raw, name: path, cancellation: cancellation, filter: isTerminal ? filter : nil)
  }

  package func write(_ bytes: [UInt8]) throws(BatchError) { try stream.write(bytes) }

  package func finish() throws(BatchError) { try stream.finish() }
}
