import CLinux
import Glibc

/// A pipe or a device that was named as an output: it takes what is written as it comes, and keeps its name.
final class OutputDevice: ResultStream {
  /// How long to wait before a pipe is asked again whether anybody reads it, in milliseconds.
  private static let patience: Int32 = 50

  private let descriptor: Descriptor
  private let stream: StandardOutput

  /// Opens a FIFO as soon as somebody reads it, or a character device; links to them are followed.
  ///
  /// - Returns: nil for anything else, and for what does not exist.
  /// - Throws: `unwritable`, or why the run is to stop.
  init?(_ path: PathBytes, cancellation: Cancellation) throws(BatchError) {
    var raw = stat()
    guard path.withCString({ stat($0, &raw) }) == 0 else { return nil }
    let kind = FileStatus(raw).kind
    guard kind == .fifo || kind == .characterDevice else { return nil }
    let flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    while true {
      let opened = path.withCString { path in retrying { Int(clinux_openat(AT_FDCWD, path, flags, 0)) } }
      if opened >= 0 {
        descriptor = Descriptor(owning: Int32(opened))
        break
      }
      guard opened == -Int(ENXIO), kind == .fifo else {
        throw BatchError.syscall("open the output", errno: Int32(-opened), path: path).recoded(.unwritable)
      }
      try cancellation.check()
      _ = poll(nil, 0, Self.patience)
    }
    stream = StandardOutput(descriptor: descriptor.raw, name: path, cancellation: cancellation)
  }

  func write(_ bytes: [UInt8]) throws(BatchError) { try stream.write(bytes) }

  func finish() throws(BatchError) { try stream.finish() }
}
