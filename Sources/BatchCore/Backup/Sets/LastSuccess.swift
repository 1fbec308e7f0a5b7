import BatchEngine
import BatchOutputs

/// When the last backup of a set succeeded, as this machine remembers it: the set itself may be on a disk that is not mounted.
package struct LastSuccess: Sendable {
  private let place: StatePlace
  private let set: PathBytes
  private let directory: PathBytes

  /// - Parameter folder: the folder of such records; nil if the machine has no place for it.
  package init?(of set: PathBytes, in directory: PathBytes, folder: StatePlace?) {
    guard let folder else { return nil }
    let target = BackupTarget.place(of: directory)
    guard let digest = try? Digest.sha256(of: target.bytes + [0] + set.bytes) else { return nil }
    place = folder.appending(digest.hex.prefix(32).utf8)
    self.set = set
    self.directory = target
  }

  /// In seconds since 1970; nil if it is unknown.
  ///
  /// - Parameter now: the current time. A later one is not valid.
  package func time(now: Int64) -> Int64? {
    guard let content = place.paths.lazy.compactMap({ try? StateFile.read($0) }).first,
      let members = try? SnapshotLine(Array(content.prefix { $0 != UInt8(ascii: "\n") })),
      members.text("type") == "success", let time = try? members.number("time")
    else { return nil }
    return Self.valid(Int64(time), now: now)
  }

  /// - Throws: `unwritable`.
  package func record(_ time: Int64, in run: RunContext) throws(BatchError) {
    try FolderMaker(calls: run.calls).make(place.path.parent)
    let file = try OutputFile(place.path, isReplacing: true, isSynced: false, isPrivate: true, in: run)
    var line = [UInt8]()
    JSONLine.append("success", to: &line) { line in
      line.add(path: set, as: "set")
      line.add(path: directory, as: "directory")
      line.add("time", time)
    }
    try file.write(line)
    try file.finish()
  }

  static func valid(_ time: Int64, now: Int64) -> Int64? { time > 0 && time <= now ? time : nil }
}
