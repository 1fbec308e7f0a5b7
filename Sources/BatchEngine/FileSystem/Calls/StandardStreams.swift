import CLinux
import Glibc

/// What a process was given as standard input, output and error.
package enum StandardStreams {
  /// Opens `/dev/null` for each of the three that is closed, so that no file gets its number and with
  /// it the messages that were meant for it. To be called first of all.
  package static func secure() {
    for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 && errno == EBADF {
      // Opened in the opposite direction on purpose: a write to a closed output must still fail.
      let flags = number == STDIN_FILENO ? O_WRONLY : O_RDONLY
      _ = "/dev/null".withCString { clinux_openat(AT_FDCWD, $0, flags, 0) }
    }
  }

  /// Writes a message. A failed write is ignored: there is no other place to report it.
  package static func write(_ message: [UInt8], to descriptor: Int32 = STDERR_FILENO) {
    message.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty {
        let count = retrying {
          Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        }
        if count > 0 {
          rest = rest.dropFirst(count)
        } else if count == -Int(EAGAIN) {
          var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          poll(&request, 1, -1)
        } else {
          return
        }
      }
    }
  }

  /// Whether the process is the superuser's.
  package static let isRoot = geteuid() == 0

  /// Whether a stream is a terminal.
  package static func isTerminal(_ stream: Stream) -> Bool { isatty(stream.rawValue) == 1 }

  /// Whether standard input is a pipe, a socket or a regular file: something that was given to be read.
  package static var hasInput: Bool {
    var raw = stat()
    guard fstat(STDIN_FILENO, &raw) == 0 else { return false }
    return [.regular, .fifo, .socket].contains(FileStatus(raw).kind)
  }

  /// The width of the terminal behind standard error in columns; 80 when it does not report one.
  package static var columns: Int {
    let columns = clinux_terminal_columns(STDERR_FILENO)
    return columns > 0 ? Int(columns) : 80
  }

  /// The regular file that standard output is, if it is one: no run should read what it writes.
  package static var outputFile: FileIdentity? {
    var raw = stat()
    guard fstat(STDOUT_FILENO, &raw) == 0 else { return nil }
    let status = FileStatus(raw)
    return status.kind == .regular ? status.identity : nil
  }

  /// Whether standard error is the stream to the journal that a service manager names as `device:inode`.
  package static func isJournal(_ name: PathBytes?) -> Bool {
    var raw = stat()
    guard let name, fstat(STDERR_FILENO, &raw) == 0 else { return false }
    return name.bytes.elementsEqual("\(raw.st_dev):\(raw.st_ino)".utf8)
  }

  /// Reports to the service manager in one line what is being done.
  ///
  /// - Parameter address: of its socket.
  package static func notify(_ address: PathBytes?, status: String) {
    guard let address, !address.isEmpty else { return }
    _ = address.withCString { clinux_notify($0, "STATUS=\(status)\n") }
  }

  /// The inode behind a path, links followed; nil when there is none.
  package static func identity(of path: PathBytes) -> FileIdentity? {
    var raw = stat()
    return path.withCString { stat($0, &raw) } == 0 ? FileStatus(raw).identity : nil
  }

  /// How many names the file behind a path has, the path's last name not followed; 0 when there is none.
  package static func linkCount(of path: PathBytes) -> UInt64 {
    var raw = stat()
    return path.withCString { lstat($0, &raw) } == 0 && FileStatus(raw).kind == .regular
      ? FileStatus(raw).linkCount : 0
  }

  /// The descriptors' numbers.
  package enum Stream: Int32, Sendable {
    case input = 0
    case output = 1
    case error = 2
  }
}
