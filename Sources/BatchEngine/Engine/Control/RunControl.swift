import Dispatch
import Synchronization

/// Controls a run by a file (`--control`), which is read again during the run.
///
/// Its lines are `concurrency N`, `concurrency auto`, `rate SIZE`, `rate off`, `pause` and `resume`; if lines contradict each other,
/// the last one counts. A rate is in bytes a second. Empty lines and lines that begin with `#` are skipped. If the file is missing, nothing changes.
package final class RunControl: Sendable {
  /// Requests, such as those in a file; nil for one that is not made.
  package struct Wishes: Sendable, Hashable {
    package enum Number: Sendable, Hashable {
      case fixed(Int)
      case auto
    }

    package enum Rate: Sendable, Hashable {
      case bytes(Int64)
      case off
    }

    package var number: Number?
    package var isPaused: Bool?
    package var rate: Rate?
    /// The first line that is not valid, from 1.
    package var unknownLine: Int?

    package init() {}

    /// These requests, with later ones in place of those that they contradict.
    package func updated(by later: Wishes) -> Wishes {
      var all = self
      all.number = later.number ?? number
      all.isPaused = later.isPaused ?? isPaused
      all.rate = later.rate ?? rate
      return all
    }

    package init(_ content: [UInt8]) {
      for (index, line) in content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        .enumerated()
      {
        let words = line.split {
          $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r")
        }
        .map { String(decoding: $0, as: UTF8.self) }
        guard let first = words.first, !first.hasPrefix("#") else { continue }
        let isKnown: Bool
        switch (first, words.count) {
        case ("pause", 1): (isPaused, isKnown) = (true, true)
        case ("resume", 1): (isPaused, isKnown) = (false, true)
        case ("concurrency", 2):
          let wish: Number? = words[1] == "auto" ? .auto : Int(words[1]).flatMap { $0 > 0 ? .fixed($0) : nil }
          number = wish ?? number
          isKnown = wish != nil
        case ("rate", 2):
          let size = try? ByteSize.bytes(of: Array(words[1].utf8))
          let wish: Rate? = words[1] == "off" ? .off : size.flatMap { $0 > 0 ? .bytes($0) : nil }
          rate = wish ?? rate
          isKnown = wish != nil
        default: isKnown = false
        }
        if !isKnown { unknownLine = unknownLine ?? index + 1 }
      }
    }
  }

  private static let interval = DispatchTimeInterval.milliseconds(100)
  private static let largest = 4096

  private let path: PathBytes
  private let run: RunContext
  private let warn: @Sendable (BatchError) -> Void
  /// The content that was read last; nil when there was no file.
  private let content = Mutex<[UInt8]?>(nil)
  private let queue = DispatchQueue(label: "batchproc.control")
  private let timer: RepeatingTimer

  /// - Parameter warn: receives the error of a line that is not valid.
  package init(_ path: PathBytes, of run: RunContext, warn: @escaping @Sendable (BatchError) -> Void) {
    self.path = path
    self.run = run
    self.warn = warn
    timer = RepeatingTimer(on: queue)
    timer.handle { [weak self] in self?.look() }
  }

  /// Reads the file once now, and afterwards ten times a second.
  package func start() {
    queue.sync { look() }
    timer.schedule(every: Self.interval, leeway: .milliseconds(10))
  }

  /// Reads the file and applies what changed in it.
  package func look() {
    guard let new = read() else { return }
    let isNew = content.withLock { old in
      defer { old = new }
      return old != new
    }
    guard isNew else { return }
    let wishes = Wishes(new)
    run.apply(wishes)
    if let line = wishes.unknownLine {
      warn(
        BatchError(
          .malformed,
          "line \(line) is not one of 'concurrency N', 'concurrency auto', 'rate SIZE', 'rate off', 'pause', 'resume'",
          path: path))
    }
  }

  /// Nil when the file is missing, for example while it is being replaced.
  private func read() -> [UInt8]? {
    // Does not wait for the writer of a FIFO, which would block the timer forever.
    guard let file = try? run.calls.openFile(path, followingLast: true) else { return nil }
    var bytes = [UInt8](repeating: 0, count: Self.largest)
    let count = bytes.withUnsafeMutableBytes { run.calls.read(file.raw, into: $0) }
    return count < 0 ? nil : Array(bytes[..<count])
  }
}

extension RunContext {
  /// Fulfils requests, from any thread. A rate needs ``RunLimits/isSteered``.
  package func apply(_ wishes: RunControl.Wishes) {
    let old = concurrency.isSuspended ? 0 : concurrency.current
    switch wishes.number {
    case .fixed(let count): concurrency.fix(affordable(count))
    case .auto: concurrency.fix(nil)
    case nil: break
    }
    if let isPaused = wishes.isPaused { concurrency.setSuspended(isPaused) }
    switch wishes.rate {
    case .bytes(let count): pace?.setRate(count)
    case .off: pace?.setRate(nil)
    case nil: break
    }
    let new = concurrency.isSuspended ? 0 : concurrency.current
    if new != old { report(ConcurrencyChange(from: old, to: new, .control)) }
  }
}
