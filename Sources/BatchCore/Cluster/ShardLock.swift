import BatchEngine
import Synchronization

import var Glibc.EACCES
import var Glibc.EAGAIN
import func Glibc.getpid
import func Glibc.usleep

/// The lock file of a shard: tasks with the same shard detect each other through it. It also stores the progress of the task.
///
/// It only saves work: on a file system without working locks both run, and the first result counts.
package final class ShardLock: Sendable {
  private let file: Descriptor
  private let folder: PlanFolder
  private let name: String
  private let start = ContinuousClock.now
  private let node: String
  private let written = Mutex<ContinuousClock.Instant?>(nil)
  /// Longer than any progress record, so that an old one is overwritten.
  private static let noteSize = 1024
  private static let attempts = 10
  private static let interval = Duration.seconds(1)

  /// - Throws: `locked` when another task holds it.
  package init(_ shard: Int, in folder: PlanFolder, node: String) throws(BatchError) {
    name = ShardPlan.name(shard, "lock")
    self.folder = folder
    self.node = node
    do throws(BatchError) {
      file = try folder.calls.openToChange(PathBytes(name), in: folder.opened.raw)
    } catch {
      throw error.at(folder.path(of: name)).recoded(.unwritable)
    }
    // A reader of the shard's state holds a shared lock for a moment, so the lock is retried.
    var failed: Int32 = 0
    for attempt in 0..<Self.attempts {
      failed = -folder.calls.lock(file.raw)
      guard failed == EAGAIN, attempt < Self.attempts - 1 else { break }
      usleep(50_000)
    }
    guard failed != EAGAIN, failed != EACCES else {
      throw BatchError(
        .locked, "another task runs shard \(shard)", path: folder.path(of: name))
    }
    note(Counters.Snapshot(), error: nil, isForced: true)
  }

  /// Records the progress of the task, at most once a second, and finally why it failed.
  package func note(_ counts: Counters.Snapshot, error: String?, isForced: Bool = false) {
    let now = ContinuousClock.now
    let isDue = written.withLock { written in
      guard isForced || written.map({ now - $0 >= Self.interval }) ?? true else { return false }
      written = now
      return true
    }
    guard isDue else { return }
    var line = JSONLine("state")
    line.add("node", node)
    line.add("pid", getpid())
    line.add("done", counts.done + counts.failed + counts.skipped)
    line.add("bytes", counts.byteCount)
    line.add("milliseconds", (now - start).components.seconds * 1000)
    if let error { line.add("error", String(error.prefix(400))) }
    var bytes = line.finished()
    bytes += repeatElement(UInt8(ascii: " "), count: max(0, Self.noteSize - bytes.count))
    let raw = file.raw
    _ = bytes.withUnsafeBytes { folder.calls.write($0, to: raw, at: 0) }
  }

  /// Removes the file after the result was written.
  package func finish(by right: CommitRight) { _ = folder.remove(name, by: right) }
}

/// The state of a shard, as seen by other processes.
package struct ShardState: Sendable {
  package enum Phase: String, Sendable {
    case waiting, running, stopped, failed, done, damaged
  }

  package private(set) var phase = Phase.waiting
  package private(set) var node = ""
  /// Paths that are finished.
  package var files = 0
  package var bytes: Int64 = 0
  package var milliseconds: Int64 = 0
  package var failed = 0
  package var error: String?

  /// Reads the files of a shard; never waits.
  package init(_ shard: Int, of plan: ShardPlan, in folder: PlanFolder) {
    do throws(BatchError) {
      if let result = try ShardResultReader.open(shard, of: plan, in: folder) {
        phase = .done
        node = result.outcome.node
        files = result.outcome.counts.seen
        failed = result.outcome.counts.failed
        bytes = result.outcome.counts.byteCount
        milliseconds = result.outcome.milliseconds
        return
      }
    } catch {
      phase = .damaged
      self.error = error.message
      return
    }
    guard let file = try? folder.openFile(ShardPlan.name(shard, "lock")) else { return }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let (raw, calls) = (file.raw, folder.calls)
    let count = bytes.withUnsafeMutableBytes { calls.read(raw, into: $0, at: 0) }
    let line = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
    let isFree = calls.lock(file.raw, isShared: true) == 0
    let fields = try? JSONFields(line)
    node = (try? fields?.text("node")) ?? ""
    files = (try? fields?.number("done")) ?? 0
    self.bytes = (try? fields?.number("bytes")) ?? 0
    milliseconds = (try? fields?.number("milliseconds")) ?? 0
    error = try? fields?.text("error")
    phase = !isFree ? .running : error == nil ? .stopped : .failed
  }
}
