import CLinux
import Glibc
import Synchronization

/// A process that kills the process groups of all children when this process has died, even by KILL.
final class ChildGuardian: Sendable {
  /// More than any run has children at once.
  private static let places = 1 << 16

  private struct Places {
    var used: Int32 = 0
    var free: [Int32] = []
    var isOver = false
  }

  /// The table of process groups, which the guardian reads and each child enters itself in.
  nonisolated(unsafe) let groups: UnsafeMutableRawPointer
  let pid: Int32
  let line: Int32
  private let places = Mutex(Places())

  init() throws(BatchError) {
    var (pid, line): (Int32, Int32) = (0, -1)
    var groups: UnsafeMutableRawPointer?
    let failed = clinux_start_guardian(Self.places, &groups, &pid, &line)
    guard failed == 0, let groups else { throw .start("start a process that watches the run", errno: failed) }
    (self.groups, self.pid, self.line) = (groups, pid, line)
  }

  deinit { end() }

  /// Ends the guardian. No child may be left.
  func end() {
    let isFirst = places.withLock { places in
      defer { places.isOver = true }
      return !places.isOver
    }
    if isFirst { clinux_end_guardian(Self.places, groups, pid, line) }
  }

  /// A place in the table for one child; nil if all are taken.
  func takePlace() -> Int32? {
    places.withLock { places in
      if let place = places.free.popLast() { return place }
      guard places.used < Self.places else { return nil }
      places.used += 1
      return places.used - 1
    }
  }

  /// Removes a child from the table: called while its process number cannot be reused yet.
  func giveBack(_ place: Int32) {
    clinux_forget_group(groups, place)
    places.withLock { $0.free.append(place) }
  }
}

extension BatchError {
  /// The error of starting a process or a thread, with the limit that refuses it.
  static func start(_ action: String, errno number: Int32, path: PathBytes? = nil) -> BatchError {
    let error = BatchError.syscall(action, errno: number, path: path)
    guard number == EAGAIN else { return error }
    return BatchError(
      .exhausted, error.message, path: path, errno: number,
      remedy: "the limit of processes is reached; see `ulimit -u`")
  }
}
