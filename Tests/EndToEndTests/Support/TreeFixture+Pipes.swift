import BatchEngine
import Glibc
import TestSupport

/// What is in named pipes, for tests that wait until a program has read them, or can write no more.
extension TreeFixture {
  /// Whether a pipe takes nothing more.
  func isFull(_ name: PathBytes) -> Bool {
    poll(name, POLLOUT) == 0
  }

  /// Whether all that was written to a pipe has been read.
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
