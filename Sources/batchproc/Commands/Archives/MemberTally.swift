import BatchCore
import BatchEngine
import Synchronization

/// How many members of each kind a run wrote, created or read, and the bytes of their contents.
final class MemberTally: Sendable {
  private struct Counts {
    var files = 0
    var folders = 0
    var links = 0
    var others = 0
    var bytes: UInt64 = 0
  }

  private let counts = Mutex(Counts())

  /// - Parameter size: the size of the content in bytes.
  func add(_ kind: ArchiveEntry.Kind, _ size: UInt64) {
    counts.withLock { counts in
      switch kind {
      case .file: counts.files += 1
      case .directory: counts.folders += 1
      case .symbolicLink, .hardLink: counts.links += 1
      case .fifo, .characterDevice, .blockDevice: counts.others += 1
      }
      counts.bytes.addClamped(size)
    }
  }

  /// Adds the members of an archive that are complete.
  func add(_ members: [ArchivedMember]) {
    for member in members where !member.flags.contains(.incomplete) {
      add(member.kind, member.partSize ?? member.size)
    }
  }

  var files: Int { counts.withLock { $0.files } }

  var bytes: Int64 { Int64(clamping: counts.withLock { $0.bytes }) }

  /// `30 files, 2 folders`.
  var text: String {
    let others = kinds.filter { $0.count > 0 }.map { ByteCount.counted($0.count, $0.noun) }
    return ([ByteCount.files(files)] + others).joined(separator: ", ")
  }

  /// The counts of all kinds except files, for a summary.
  var kinds: [(count: Int, noun: String)] {
    let counts = counts.withLock { $0 }
    return [(counts.folders, "folder"), (counts.links, "link"), (counts.others, "special file")]
  }
}
