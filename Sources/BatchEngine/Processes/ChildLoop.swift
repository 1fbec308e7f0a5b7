import Glibc

/// The body of the thread that starts and watches the children of a run.
///
/// It waits in one place, for requests, ends and output. When a child ends it first starts the next one, then reads what is left in
/// the pipes.
final class ChildLoop {
  private let site: ChildSite
  private let concurrency: ConcurrencyLimit
  private let cancellation: Cancellation
  private let report: (_ running: Int) -> Void
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  private var keys = [UInt64](repeating: 0, count: 256)

  /// Those that wait, in two parts: the first ones at the end of the first part, then the second part in order.
  private var first: [ChildOperation] = []
  private var later: [ChildOperation] = []
  private var paused: [(due: Double, child: ChildOperation)] = []
  /// One that could not be started. It is tried again when a process has ended, or its pipes are closed.
  private var refused: ChildOperation?
  private var mayRetry = false
  /// Those that have a process, or open pipes.
  private var children: [UInt64: ChildOperation] = [:]
  private var running = 0 { didSet { report(running) } }
  private var lastKey: UInt64 = 0
  /// No child and no pause is due earlier.
  private var earliest = Double.infinity
  private var isEnding = false

  init(
    _ site: ChildSite, _ concurrency: ConcurrencyLimit, _ cancellation: Cancellation,
    report: @escaping (_ running: Int) -> Void
  ) {
    (self.site, self.concurrency, self.cancellation, self.report) = (site, concurrency, cancellation, report)
  }

  deinit { buffer.deallocate() }

  /// Seconds of a clock that only goes forward.
  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Returns when the runner was stopped and no child is left.
  func run() {
    while true {
      let asked = site.requests.take()
      for child in asked.children { accept(child) }
      for key in asked.ended { reap(key) }
      if asked.isStopping || cancellation.isCancelled { endAll() }
      startWaiting()
      if asked.isStopping, children.isEmpty, site.requests.end() { break }
      let isAsleep = site.requests.fallAsleep()
      let count = site.wait(isAsleep ? earliest - Self.now() : 0, keys: &keys)
      site.requests.wakeUp(isRung: keys[..<count].contains(0))
      for key in keys[..<count] where key != 0 { handle(key) }
      if Self.now() >= earliest { actOnDue() }
    }
    site.guardian.end()
  }

  // MARK: Starting

  private func accept(_ child: ChildOperation) {
    guard child.command.pause > 0 else { return later.append(child) }
    let due = Self.now() + child.command.pause
    paused.append((due, child))
    earliest = min(earliest, due)
  }

  private func next() -> ChildOperation? {
    if let refused {
      self.refused = nil
      return refused
    }
    if first.isEmpty {
      first = later.reversed()
      later = []
    }
    return first.popLast()
  }

  /// Whether another child may start. Those that have ended, but whose pipes are not closed yet, may be as many as those that run.
  private var hasRoom: Bool {
    let most = concurrency.current
    return running < most && children.count < 2 * most && !concurrency.isSuspended
      && (refused == nil || mayRetry)
  }

  private func startWaiting() {
    guard !isEnding else { return }
    while hasRoom, let child = next() {
      mayRetry = false
      lastKey += 4
      child.start(key: lastKey)
      if let process = child.process {
        children[lastKey] = child
        running += 1
        earliest = min(earliest, process.due)
      } else if let refusal = child.refusal {
        // The system has no room for another process, or the limit of descriptors is reached.
        if refusal.code == .exhausted, !children.isEmpty {
          refused = child
        } else {
          child.end(.failure(refusal))
        }
      }
    }
  }

  /// Ends all children; those that wait are not started.
  private func endAll() {
    isEnding = true
    let signal = cancellation.signal == SIGINT ? SIGINT : SIGTERM
    for child in children.values {
      child.process?.terminate(signal, reason: .stopped)
      earliest = min(earliest, child.process?.due ?? .infinity)
    }
    while let child = next() { child.giveUp() }
    let held = paused
    paused = []
    for (_, child) in held { child.giveUp() }
  }

  // MARK: Events

  private func handle(_ key: UInt64) {
    guard let watched = ChildProcess.Watched(rawValue: key & 3), let child = children[key & ~3],
      let process = child.process
    else { return }
    switch watched {
    case .end: reap(child.key)
    case .output: _ = process.read(process.output, with: buffer)
    case .errors: _ = process.read(process.errors, with: buffer)
    }
    conclude(child)
  }

  private func reap(_ key: UInt64) {
    guard let child = children[key], let process = child.process, !process.hasEnded else { return }
    process.reap()
    running -= 1
    mayRetry = true
    startWaiting()
    for stream in [process.output, process.errors] { _ = process.read(stream, with: buffer) }
    earliest = min(earliest, process.due)
    conclude(child)
  }

  /// Ends the operation when the process has ended and its pipes are closed.
  private func conclude(_ child: ChildOperation) {
    guard let result = child.process?.result else { return }
    children[child.key] = nil
    mayRetry = true
    child.end(result)
  }

  private func actOnDue() {
    let now = Self.now()
    earliest = .infinity
    for child in children.values {
      guard let process = child.process else { continue }
      if process.due <= now {
        process.act()
        conclude(child)
      }
      if let process = child.process { earliest = min(earliest, process.due) }
    }
    let over = paused.filter { $0.due <= now }
    paused.removeAll { $0.due <= now }
    later += over.map(\.child)
    for (due, _) in paused { earliest = min(earliest, due) }
  }
}
