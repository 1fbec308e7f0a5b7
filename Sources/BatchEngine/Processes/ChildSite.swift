import CLinux
import Glibc
import Synchronization

/// What the children of one runner share.
final class ChildSite: Sendable {
  /// Seconds.
  struct Times: Sendable {
    /// Between TERM and KILL.
    var grace = 5.0
    /// How long a pipe is read after the end of a child, if other processes hold it.
    var linger = 1.0
  }

  let guardian: ChildGuardian
  let captures: CaptureStore
  let requests: ChildRequests
  /// Standard input of children without one.
  let null: Descriptor
  let hasPidfd: Bool
  let times: Times
  let liveErrors: (@Sendable (_ tag: Int, _ lines: [UInt8]) -> Void)?
  private let epoll: Descriptor

  init(
    captures: CaptureStore, times: Times, hasPidfd: Bool,
    liveErrors: (@Sendable (_ tag: Int, _ lines: [UInt8]) -> Void)?
  ) throws(BatchError) {
    let opened = PathBytes("/dev/null").withCString { LinuxCalls().open($0, at: AT_FDCWD, flags: O_RDONLY) }
    guard opened >= 0 else { throw .syscall("open", errno: -opened, path: "/dev/null") }
    null = Descriptor(owning: opened)
    let made = clinux_epoll_create()
    guard made >= 0 else { throw .syscall("watch processes", errno: -made) }
    epoll = Descriptor(owning: made)
    requests = try ChildRequests()
    // The last step: from here on, another process exists.
    guardian = try ChildGuardian()
    (self.captures, self.times, self.hasPidfd, self.liveErrors) = (captures, times, hasPidfd, liveErrors)
    try watch(requests.bell.raw, as: 0)
  }

  func watch(_ descriptor: Int32, as key: UInt64) throws(BatchError) {
    let failed = clinux_epoll_add(epoll.raw, descriptor, key)
    guard failed == 0 else { throw .syscall("watch a process", errno: -failed).recoded(.exhausted) }
  }

  func forget(_ descriptor: Int32) { _ = clinux_epoll_remove(epoll.raw, descriptor) }

  /// Waits for descriptors that are ready.
  ///
  /// - Parameter seconds: the longest wait.
  /// - Returns: how many keys were written.
  func wait(_ seconds: Double, keys: inout [UInt64]) -> Int {
    // Rounded up, so that what is due then is due.
    let milliseconds = seconds.isFinite ? Int32(min(max(0, (seconds * 1000).rounded(.up)), 1e9)) : -1
    return max(0, Int(clinux_epoll_wait(epoll.raw, &keys, Int32(keys.count), milliseconds)))
  }
}

/// What other threads ask of the thread of a runner.
final class ChildRequests: Sendable {
  struct Asked {
    var children: [ChildOperation] = []
    /// The keys of children whose end a thread has seen.
    var ended: [UInt64] = []
    var isStopping = false
  }

  private struct State {
    var asked = Asked()
    var isAsleep = false
    var hasNews = false
    var isOver = false
  }

  let bell: Descriptor
  private let state = Mutex(State())
  /// Orders what a thread has prepared before what this one does with it. The sanitizer for threads knows atomics, but not `Mutex`.
  private let order = Atomic<Int>(0)

  init() throws(BatchError) {
    let made = clinux_eventfd()
    guard made >= 0 else { throw .syscall("watch processes", errno: errno) }
    bell = Descriptor(owning: made)
  }

  /// Wakes the thread, with a change of what it is asked.
  ///
  /// - Returns: false when the thread has ended.
  @discardableResult
  func ask(_ change: (inout Asked) -> Void = { _ in }) -> Bool {
    order.add(1, ordering: .releasing)
    let (isOver, rings) = state.withLock { state in
      if state.isOver { return (true, false) }
      change(&state.asked)
      state.hasNews = true
      defer { state.isAsleep = false }
      return (false, state.isAsleep)
    }
    if rings {
      var one: UInt64 = 1
      // Without the ring the thread would sleep for ever, so a write that fails is repeated. A full counter rings too.
      for _ in 0..<8 {
        if retrying({ Glibc.write(bell.raw, &one, 8) }) >= 0 { break }
      }
    }
    return !isOver
  }

  /// What was asked since the last call. `isStopping` stays.
  func take() -> Asked {
    let asked = state.withLock { state in
      defer {
        state.hasNews = false
        state.asked.children = []
        state.asked.ended = []
      }
      return state.asked
    }
    _ = order.load(ordering: .acquiring)
    return asked
  }

  /// Notes that the thread begins to wait; false if something was asked meanwhile.
  func fallAsleep() -> Bool {
    state.withLock { state in
      state.isAsleep = !state.hasNews
      return state.isAsleep
    }
  }

  /// - Parameter isRung: whether the bell is ready.
  func wakeUp(isRung: Bool) {
    state.withLock { $0.isAsleep = false }
    guard isRung else { return }
    var count: UInt64 = 0
    _ = retrying { Glibc.read(bell.raw, &count, 8) }
  }

  /// Refuses all further requests; false if something was asked meanwhile.
  func end() -> Bool {
    state.withLock { state in
      guard state.asked.children.isEmpty else { return false }
      state.isOver = true
      return true
    }
  }

  private final class Waiter: Sendable {
    let pid: Int32
    let key: UInt64
    let requests: ChildRequests

    init(_ pid: Int32, key: UInt64, _ requests: ChildRequests) {
      (self.pid, self.key, self.requests) = (pid, key, requests)
    }
  }

  /// Waits for the end of a child on a thread of its own, for kernels that cannot report it through a descriptor.
  func awaitEnd(of pid: Int32, key: UInt64) throws(BatchError) {
    let waiter = Unmanaged.passRetained(Waiter(pid, key: key, self))
    var thread = pthread_t()
    let failed = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        let waiter = Unmanaged<Waiter>.fromOpaque(argument).takeRetainedValue()
        clinux_await_child(waiter.pid)
        waiter.requests.ask { $0.ended.append(waiter.key) }
        return nil
      }, waiter.toOpaque())
    guard failed == 0 else {
      waiter.release()
      throw .start("start a thread that waits for a process", errno: failed)
    }
    pthread_detach(thread)
  }
}
