import BatchEngine
import Synchronization

/// Maps the device numbers of a plan to those of this machine, because they differ between machines.
package final class PlannedDevices: Sendable {
  private struct State {
    var here: [UInt64: UInt64] = [:]
    var planned: [UInt64: UInt64] = [:]
  }

  private let state = Mutex(State())

  package init() {}

  func here(_ planned: UInt64) -> UInt64? { state.withLock { $0.here[planned] } }

  func note(_ planned: UInt64, here: UInt64) {
    state.withLock { state in
      state.here[planned] = here
      state.planned[here] = planned
    }
  }

  /// The identity in the plan of a file on this machine.
  func planned(_ identity: FileIdentity) -> FileIdentity {
    let device = state.withLock { $0.planned[identity.device] } ?? identity.device
    return FileIdentity(device: device, inode: identity.inode)
  }
}

/// Yields the entries of a shard as a walk would, from the plan.
///
/// Workers open the files and compare them with the planned inode, size and time. If the time of a folder has changed, entries
/// were added or removed, which is reported as a problem.
package final class PlanPlayer {
  private static let bufferSize = 256 << 10
  /// The longest record: a path and its numbers.
  private static let longestRecord = 2 << 20

  private let file: Descriptor
  private let path: PathBytes
  private var end: UInt64
  /// The ranges that follow.
  private var rest: ArraySlice<Range<UInt64>> = []
  private let run: RunContext
  private let checksFolders: Bool
  private let devices: PlannedDevices
  private var position: UInt64
  private var buffer: [UInt8] = []
  private var start = 0
  private var directory: DirectoryPath?
  private var device: UInt64 = 0
  /// The first path of the last file, if the last item is a further name.
  package private(set) var firstPath: PathBytes?
  /// Whether a file beside the last one may have the same output.
  package private(set) var mayHaveRival = false
  private var manifest: PathBytes?

  /// Opens the entries of a shard, and compares them with the digest of the plan.
  ///
  /// - Parameter checksFolders: whether folders are checked for added or removed entries.
  /// - Throws: `unwritable` when the entries do not match the plan.
  package init(
    _ shard: ShardPlan.Shard, in folder: PlanFolder, checksFolders: Bool, _ devices: PlannedDevices,
    _ run: RunContext
  ) throws(BatchError) {
    path = folder.path(of: ShardPlan.entriesName)
    self.run = run
    self.checksFolders = checksFolders
    self.devices = devices
    (position, end) = (shard.offset, shard.offset)
    do throws(BatchError) {
      file = try folder.openFile(ShardPlan.entriesName)
    } catch {
      throw error.code == .untrusted ? error : error.recoded(.unwritable)
    }
    for (range, expected) in shard.ranges {
      (position, end) = (range.lowerBound, range.upperBound)
      let digest = try DigestStream(.sha256)
      while try fill() > 0 {
        try run.cancellation.check()
        try withBytes(of: buffer) { (raw) throws(BatchError) in try digest.update(raw) }
        buffer.removeAll(keepingCapacity: true)
      }
      guard try digest.finish() == expected else {
        throw BatchError(
          .unwritable,
          "the entries of shard \(shard.index) do not match the plan: edited or damaged",
          path: path)
      }
    }
    (position, end) = (shard.offset, shard.offset + shard.length)
    rest = shard.ranges.dropFirst().map(\.range)[...]
    if !shard.folder.isEmpty {
      do throws(BatchError) {
        switch try PlanRecord(shard.folder[...]) {
        case .folder(let first): try enter(first)
        case .manifest(let path): manifest = path
        case .firstPath, .rival, .line, .entry, .problem: throw PlanRecord.invalid
        }
      } catch {
        throw error.at(path).recoded(.unwritable)
      }
    }
  }

  /// The next item, nil at the end; an entry that is not valid ends the run.
  package func next() -> Walked? {
    do throws(BatchError) {
      return try nextItem()
    } catch {
      run.cancellation.cancel(error.at(path).recoded(.unwritable))
      return nil
    }
  }

  private func nextItem() throws(BatchError) -> Walked? {
    firstPath = nil
    mayHaveRival = false
    while let record = try nextRecord() {
      switch try PlanRecord(record) {
      case .folder(let folder):
        try enter(folder)
        if checksFolders, let problem = change(of: folder) { return .problem(problem) }
      case .firstPath(let path): firstPath = path
      case .rival: mayHaveRival = true
      case .problem(let problem): return .problem(problem)
      case .entry(let entry, let name): return try .item(.file(file(entry, name)))
      case .manifest, .line: throw PlanRecord.invalid
      }
    }
    return nil
  }

  /// The next line of a manifest, nil at the end.
  ///
  /// - Throws: `unwritable` for an entry that is not valid.
  package func nextRow() throws(BatchError) -> CheckLine? {
    do throws(BatchError) {
      while let record = try nextRecord() {
        switch try PlanRecord(record) {
        case .manifest(let path): manifest = path
        case .line(let item):
          guard let manifest else { throw PlanRecord.invalid }
          return .line(item, of: manifest, isOfStandardInput: false)
        case .problem(let problem): return .unreadable(problem)
        case .folder, .firstPath, .rival, .entry: throw PlanRecord.invalid
        }
      }
      return nil
    } catch {
      throw error.at(path).recoded(.unwritable)
    }
  }

  private func file(
    _ entry: PlanRecord.PlannedEntry, _ name: ArraySlice<UInt8>
  ) throws(BatchError) -> FileRecord {
    guard let directory else { throw PlanRecord.invalid }
    let home = entry.home.map { devices.here($0) ?? $0 } ?? device
    var status = entry.status
    status.identity = FileIdentity(device: home, inode: status.identity.inode)
    return FileRecord(
      directory: directory, names: NameArena(name: name), nameOffset: 0, status: status,
      followsLinks: entry.followsLinks, isPlanned: true)
  }

  private func enter(_ planned: PlanRecord.PlannedFolder) throws(BatchError) {
    if let known = devices.here(planned.device) {
      device = known
    } else {
      let shown = planned.prefix.isEmpty ? PathBytes(".") : PathBytes(planned.prefix)
      let now = try? run.calls.status(of: shown, followingLinks: true)
      device = now?.identity.device ?? planned.device
      if now != nil { devices.note(planned.device, here: device) }
    }
    directory = DirectoryPath(
      prefix: planned.prefix, operandLength: planned.operandLength,
      identity: planned.inode.map { FileIdentity(device: device, inode: $0) }, depth: planned.depth)
  }

  /// The problem of a folder to which entries were added or from which they were removed since it was listed.
  private func change(of planned: PlanRecord.PlannedFolder) -> Problem? {
    guard let modified = planned.modified, let inode = planned.inode, let directory,
      let now = try? run.calls.status(of: directory.openPath, followingLinks: true),
      now.identity.inode == inode, now.modified != modified
    else { return nil }
    return Problem(
      .changed,
      BatchError(
        .changed, "entries were added or removed since it was planned; new ones are left out",
        path: directory.shownPath))
  }

  // MARK: Bytes

  private func nextRecord() throws(BatchError) -> ArraySlice<UInt8>? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: 0) {
        defer { start = end + 1 }
        return buffer[start..<end]
      }
      searched = buffer.count
      guard buffer.count - start <= Self.longestRecord else { throw PlanRecord.invalid }
      buffer.removeSubrange(..<start)
      searched -= start
      start = 0
      if try fill() > 0 { continue }
      guard buffer.isEmpty else { throw PlanRecord.invalid }
      guard let next = rest.popFirst() else { return nil }
      (position, end) = (next.lowerBound, next.upperBound)
      searched = 0
    }
  }

  /// - Returns: how many bytes were added; 0 at the end of the range.
  private func fill() throws(BatchError) -> Int {
    let wanted = Int(min(UInt64(Self.bufferSize), end - position))
    guard wanted > 0 else { return 0 }
    let old = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: wanted))
    let (raw, place) = (file.raw, Int(clamping: position))
    let count = buffer.withUnsafeMutableBytes {
      run.calls.read(raw, into: UnsafeMutableRawBufferPointer(rebasing: $0[old...]), at: place)
    }
    buffer.removeLast(wanted - max(0, count))
    guard count > 0 else {
      throw count == 0
        ? BatchError(.unwritable, "the entries of the plan are cut", path: path)
        : .syscall("read", errno: Int32(truncatingIfNeeded: -count), path: path).recoded(
          .unwritable)
    }
    position += UInt64(count)
    return count
  }
}
