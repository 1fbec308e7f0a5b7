import CLinux
import Glibc

/// Standard input, output and error of the process.
package enum StandardStreams {
  /// Opens `/dev/null` for each closed stream, so that no file gets its number and then receives the messages for that stream.
  /// Called before anything else.
  package static func secure() {
    for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) == -1 && errno == EBADF {
      // Opened for the opposite direction on purpose: a write to a closed output must still fail.
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

  package static let isRoot = geteuid() == 0

  package static func isTerminal(_ stream: Stream) -> Bool { isatty(stream.rawValue) == 1 }

  package static func isPipe(_ stream: Stream) -> Bool {
    (try? LinuxCalls().status(of: stream.rawValue))?.kind == .fifo
  }

  /// Whether standard input is a pipe, a socket or a regular file: input that was given on purpose.
  package static var hasInput: Bool {
    let kind = (try? LinuxCalls().status(of: STDIN_FILENO))?.kind ?? .unknown
    return [.regular, .fifo, .socket].contains(kind)
  }

  /// The width of standard error's terminal in columns; 80 if unknown.
  package static var columns: Int {
    let columns = clinux_terminal_columns(STDERR_FILENO)
    return columns > 0 ? Int(columns) : 80
  }

  /// The identity of standard output if it is a regular file: a run must not read its own output.
  package static var outputFile: FileIdentity? {
    let status = try? LinuxCalls().status(of: STDOUT_FILENO)
    return status?.kind == .regular ? status?.identity : nil
  }

  /// Whether standard error is the journal stream, which a service manager names as `device:inode`.
  package static func isJournal(_ name: PathBytes?) -> Bool {
    var raw = stat()
    guard let name, fstat(STDERR_FILENO, &raw) == 0 else { return false }
    return name.bytes.elementsEqual("\(raw.st_dev):\(raw.st_ino)".utf8)
  }

  /// Reports the current activity to the service manager in one line.
  ///
  /// - Parameter address: of the service manager's socket.
  package static func notify(_ address: PathBytes?, status: String) {
    guard let address, !address.isEmpty else { return }
    _ = address.withCString { clinux_notify($0, "STATUS=\(status)\n") }
  }

  /// The identity of the file at a path, following links; nil if there is none.
  package static func identity(of path: PathBytes) -> FileIdentity? {
    (try? path.status(followingLinks: true))?.identity
  }

  /// The link count of the file at a path, without following a link as the last name; 0 if there is none.
  package static func linkCount(of path: PathBytes) -> UInt64 {
    guard let status = try? path.status(), status.kind == .regular else { return 0 }
    return status.linkCount
  }

  package enum Stream: Int32, Sendable {
    case input = 0
    case output = 1
    case error = 2
  }
}
