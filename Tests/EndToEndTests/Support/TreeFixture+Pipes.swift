import BatchEngine
import Glibc
import TestSupport

/// The state of named pipes, for tests that wait until a program has read them or cannot write more.
extension TreeFixture {
  /// Whether no more data can be written to a pipe.
  func isFull(_ name: PathBytes) -> Bool {
    poll(name, POLLOUT) == 0
  }

  /// Whether a pipe was read to its end.
  func isEmpty(_ name: PathBytes) -> Bool {
    poll(name, POLLIN) == 0
  }

  private func poll(_ name: PathBytes, _ events: Int32) -> Int32 {
    let descriptor = path(name).withCString { open($0, O_RDWR | O_NONBLOCK | O_CLOEXEC) }
    guard descriptor >= 0 else { return -1 }
    defer { close(descriptor) }
    var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return Glibc.poll(&request, 1, 0)
  }
}
