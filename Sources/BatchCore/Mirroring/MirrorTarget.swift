import BatchEngine
import BatchOutputs
import Synchronization

/// What the lanes and the collector of a mirror share: the target, its outputs, and the other copies.
package final class MirrorTarget: Sendable {
  /// Whether two file systems can share blocks or copy inside the kernel; nil if not tried yet.
  private struct Abilities {
    var clones: Bool?
    var copies: Bool?
  }

  private struct Pair: Hashable {
    let source: UInt64
    let target: UInt64
  }

  let options: MirroringOptions
  let operands: MirrorOperands
  let folder: ContainedFolder
  let stage: OutputStage
  let metadata: MirrorMetadata
  let times: TimeSteps
  let copies: [OpenFolder]
  let cache: DigestCache?
  private let abilities = Mutex<[Pair: Abilities]>([:])

  /// - Parameter path: the target folder, which exists unless this is a dry run.
  /// - Throws: the error of opening it or another copy.
  init(
    _ path: PathBytes, _ operands: MirrorOperands, _ options: MirroringOptions, outputs: OutputOptions,
    cache: DigestCache?, in context: CollectorContext
  ) throws(BatchError) {
    self.options = options
    self.operands = operands
    self.cache = cache
    folder = try ContainedFolder(path, isDryRun: options.isDryRun, opener: context.folders)
    stage = OutputStage(outputs, in: context)
    metadata = MirrorMetadata(calls: context.calls)
    times = TimeSteps(folder.area, isExact: options.isDryRun)
    var copies: [OpenFolder] = []
    for copy in options.linkSources {
      copies.append(try context.folders.folder(named: Self.path(of: copy, below: path)))
    }
    self.copies = copies
  }

  /// The path of another copy of the tree.
  static func path(of copy: PathBytes, below target: PathBytes) -> PathBytes {
    copy.isAbsolute ? copy : target.appending(copy.bytes)
  }

  /// The path of a place, for messages.
  func path(of place: RelativePath) -> PathBytes {
    place.bytes.isEmpty ? folder.path : folder.path.appending(place.bytes)
  }

  // MARK: Copying inside the kernel

  func mayClone(_ source: UInt64, to target: UInt64) -> Bool {
    source == target
      && abilities.withLock { $0[Pair(source: source, target: target)]?.clones } != false
  }

  func mayCopy(_ source: UInt64, to target: UInt64) -> Bool {
    abilities.withLock { $0[Pair(source: source, target: target)]?.copies } != false
  }

  func note(clones: Bool, from source: UInt64, to target: UInt64) {
    abilities.withLock { $0[Pair(source: source, target: target), default: Abilities()].clones = clones }
  }

  func noteNoCopies(from source: UInt64, to target: UInt64) {
    abilities.withLock { $0[Pair(source: source, target: target), default: Abilities()].copies = false }
  }
}
