import CLinux
import Glibc

/// Files with keys and passphrases. Files that other users may read are refused.
package enum SecretFile {
  /// Reads a file or pipe to its end, or a line from a terminal without echo.
  ///
  /// - Parameters:
  ///   - room: receives the content; the caller clears it.
  ///   - prompt: the prompt on a terminal.
  /// - Returns: the number of bytes.
  /// - Throws: the error of a system call; `unreadable` for a file that others may read; `malformed` for one that is too large.
  package static func read(
    _ path: PathBytes, into room: UnsafeMutableRawBufferPointer, prompt: String
  ) throws(BatchError) -> Int {
    let opened = path.withCString { pointer in
      retrying { Int(clinux_openat(AT_FDCWD, pointer, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0)) }
    }
    guard opened >= 0 else { throw .syscall("open", errno: Int32(-opened), path: path) }
    let file = Descriptor(owning: Int32(opened))
    var raw = stat()
    guard fstat(file.raw, &raw) == 0 else { throw .syscall("read the status", errno: errno, path: path) }
    let kind = FileStatus(raw).kind
    if kind == .regular || kind == .fifo {
      guard raw.st_mode & 0o077 == 0 else {
        throw BatchError(
          .unreadable, "is refused, since other users may read or change it", path: path,
          remedy: "chmod 600 it")
      }
    } else if isatty(file.raw) == 1 {
      return try readLine(file.raw, into: room, prompt)
    } else {
      throw BatchError(.malformed, "is not a regular file", path: path)
    }
    return try fill(room, from: file.raw, path)
  }

  private static func fill(
    _ room: UnsafeMutableRawBufferPointer, from descriptor: Int32, _ path: PathBytes
  ) throws(BatchError) -> Int {
    var filled = 0
    while true {
      guard filled < room.count else { throw BatchError(.malformed, "is too large", path: path) }
      let rest = UnsafeMutableRawBufferPointer(rebasing: room[filled...])
      let count = retrying { Glibc.read(descriptor, rest.baseAddress, rest.count) }
      guard count >= 0 else { throw .syscall("read", errno: Int32(-count), path: path) }
      if count == 0 { return filled }
      filled += count
    }
  }

  private static func readLine(
    _ terminal: Int32, into room: UnsafeMutableRawBufferPointer, _ prompt: String
  ) throws(BatchError) -> Int {
    var settings = termios()
    guard tcgetattr(terminal, &settings) == 0 else { throw .syscall("ask the terminal", errno: errno) }
    var silent = settings
    // Without ISIG no signal from the terminal can end the process before the echo is switched on again.
    silent.c_lflag &= ~tcflag_t(ECHO | ISIG | ICANON)
    StandardStreams.write(Array("\(prompt): ".utf8))
    tcsetattr(terminal, TCSAFLUSH, &silent)
    defer {
      tcsetattr(terminal, TCSANOW, &settings)
      StandardStreams.write([UInt8(ascii: "\n")])
    }
    var filled = 0
    while filled < room.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: room[filled..<(filled + 1)])
      let count = retrying { Glibc.read(terminal, rest.baseAddress, 1) }
      guard count > 0 else { break }
      switch room[filled] {
      case 3, 28: throw BatchError(.cancelled, "no passphrase was given")
      case 10, 13, 4: return filled
      case 8, 127: filled = max(0, filled - 1)
      default: filled += 1
      }
    }
    return filled
  }

  /// Excludes the memory of the process from core files, and protects it from other programs of the user.
  package static func protectProcess() { clinux_forbid_dumps() }
}
