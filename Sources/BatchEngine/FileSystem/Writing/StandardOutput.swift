import Glibc

/// Standard output as a stream of bytes that does not delay a cancelled run.
package struct StandardOutput: ResultStream {
  /// A pipe that reports room accepts this many bytes without blocking (PIPE_BUF).
  private static let pipePiece = 4096
  /// How long a wait for room lasts before the cancellation is checked again, in milliseconds.
  private static let patience: Int32 = 100

  private let descriptor: Int32
  private let name: PathBytes
  private let cancellation: Cancellation
  /// Whether a write may have to wait for a reader: pipes, sockets and terminals.
  private let mayWait: Bool
  private let filter: (@Sendable ([UInt8]) -> [UInt8])?

  /// - Parameters:
  ///   - cancellation: ends the wait for a reader that is slow.
  ///   - filter: changes the bytes as a terminal needs them; nil writes every byte unchanged.
  package init(cancellation: Cancellation, filter: (@Sendable ([UInt8]) -> [UInt8])? = nil) {
    self.init(descriptor: STDOUT_FILENO, cancellation: cancellation, filter: filter)
  }

  package init(
    descriptor: Int32, name: PathBytes = "standard output", cancellation: Cancellation,
    filter: (@Sendable ([UInt8]) -> [UInt8])? = nil
  ) {
    self.descriptor = descriptor
    self.name = name
    self.cancellation = cancellation
    self.filter = filter
    var raw = stat()
    let kind = fstat(descriptor, &raw) == 0 ? FileStatus(raw).kind : .unknown
    mayWait = kind == .fifo || kind == .socket || isatty(descriptor) == 1
  }

  package func write(_ bytes: [UInt8]) throws(BatchError) {
    var rest = (filter?(bytes) ?? bytes)[...]
    while !rest.isEmpty {
      if mayWait { try waitForRoom() }
      let piece = mayWait ? rest.prefix(Self.pipePiece) : rest
      let count = piece.withUnsafeBytes { raw in
        retrying { Glibc.write(descriptor, raw.baseAddress, raw.count) }
      }
      if count == -Int(EAGAIN) {
        try cancellation.check()
        try waitForRoom()
        continue
      }
      guard count >= 0 else { throw failure(Int32(truncatingIfNeeded: -count)) }
      rest = rest.dropFirst(count)
    }
  }

  package func finish() throws(BatchError) {
    // Network file systems report some errors at close. Closing a duplicate reports them without closing this descriptor.
    let copy = dup(descriptor)
    guard copy >= 0 else { return }
    if Glibc.close(copy) != 0, errno != EINTR { throw failure(errno) }
  }

  private func waitForRoom() throws(BatchError) {
    while true {
      var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      if retrying({ Int(poll(&request, 1, Self.patience)) }) != 0 { return }
      try cancellation.check()
    }
  }

  private func failure(_ number: Int32) -> BatchError {
    let error = BatchError.syscall("write", errno: number, path: name)
    return error.code == .closedOutput ? error : error.recoded(.unwritable)
  }
}
