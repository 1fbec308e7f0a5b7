import BatchEngine
import BatchOutputs

/// The results of the drills of a set: where the next one continues, and archives in which damage was found.
package struct DrillState: Sendable {
  /// A file, by its source and its name in the archive.
  struct Place: Sendable, Hashable {
    let source: PathBytes
    let path: PathBytes

    /// Whether a file comes later in the order of manifests.
    func isBefore(_ source: PathBytes, _ path: PathBytes) -> Bool {
      if source != self.source { return self.source < source }
      return TreeOrder.compare(self.path.bytes, isFolder: false, path.bytes, isFolder: false) < 0
    }
  }

  /// The last file that was drilled; nil at the beginning of a cycle.
  var last: Place?
  /// The last file that was drilled in the cycle of large files.
  var lastLarge: Place?
  /// The damage of archives, by the stamps of their snapshots.
  private var damage: [String: Damage] = [:]
  /// The bytes of the lines for the damaged files.
  private var taken = 0

  private struct Damage: Sendable {
    var paths: Set<PathBytes> = []
    /// Whether there are damaged files whose names were not recorded.
    var hasOthers = false
  }

  /// The most bytes for the lines of damaged files.
  private static let room = 1 << 18
  /// The most bytes of a state file; earlier versions counted only the names.
  private static let limit = 1 << 26

  init() {}

  /// - Parameter path: the state file; a missing one is empty.
  /// - Throws: `unreadable` when it cannot be read or is not valid: without it, damage would be forgotten.
  init(_ path: PathBytes) throws(BatchError) {
    do throws(BatchError) {
      try read(try SmallFile.readRegular(path, limit: Self.limit))
    } catch {
      guard !error.isNotFound else { return }
      // It is no damage of the snapshots.
      throw BatchError(
        .unreadable, "the results of drills cannot be read: \(error.message)", path: path, errno: error.errno,
        remedy: "remove this file, and drill all files again")
    }
  }

  private mutating func read(_ bytes: [UInt8]) throws(BatchError) {
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let members = try SnapshotLine(Array(line))
      switch members.text("type") {
      case "drill": last = try Self.place(members)
      case "large": lastLarge = try Self.place(members)
      case "suspect":
        guard let archive = members.text("archive"), LocalTime.seconds(ofStamp: archive.utf8) != nil else {
          throw SnapshotLine.malformed("archive")
        }
        if let path = try members.path("path") {
          if damage[archive, default: Damage()].paths.insert(path).inserted {
            taken += Self.line(path, in: archive).count
          }
        } else {
          damage[archive, default: Damage()].hasOthers = true
        }
      default: throw SnapshotLine.malformed
      }
    }
  }

  private static func place(_ members: SnapshotLine) throws(BatchError) -> Place? {
    guard let source = try members.path("source"), let path = try members.path("path") else { return nil }
    return Place(source: source, path: path)
  }

  /// Archives in which damage was found, by the stamps of their snapshots.
  package var suspects: Set<String> { Set(damage.keys) }

  /// Whether only damage of the whole archive is known.
  func isVague(_ archive: String) -> Bool { damage[archive]?.hasOthers == true }

  /// Whether the names of damaged files in an archive are known.
  func hasPaths(in archive: String) -> Bool { damage[archive]?.paths.isEmpty == false }

  func has(_ path: PathBytes, in archive: String) -> Bool { damage[archive]?.paths.contains(path) == true }

  /// Whether damage was found in the content or the header of an entry, or may be there.
  func isDamaged(_ entry: SnapshotEntry) -> Bool {
    guard !damage.isEmpty else { return false }
    return entry.places.contains { place in
      guard let found = damage[place.archive] else { return false }
      return found.hasOthers || found.paths.contains(place.member)
        || !entry.isReference && found.paths.contains(entry.path)
    }
  }

  /// Records that an archive is damaged at an unknown place.
  mutating func note(damageOf archive: String) { damage[archive, default: Damage()].hasOthers = true }

  /// Adds the damage of another state.
  mutating func merge(_ other: DrillState) {
    for (archive, found) in other.damage {
      for path in found.paths { note(path, in: archive, isDamaged: true) }
      if found.hasOthers { note(damageOf: archive) }
    }
  }

  /// Records the result of drilling a file. An archive is no longer suspect when all its damaged files could be restored.
  mutating func note(_ path: PathBytes, in archive: String, isDamaged: Bool) {
    guard isDamaged else {
      guard damage[archive]?.paths.remove(path) != nil else { return }
      taken -= Self.line(path, in: archive).count
      if damage[archive]?.paths.isEmpty == true, damage[archive]?.hasOthers == false { forget(archive) }
      return
    }
    let size = Self.line(path, in: archive).count
    guard taken + size <= Self.room else {
      damage[archive, default: Damage()].hasOthers = true
      return
    }
    if damage[archive, default: Damage()].paths.insert(path).inserted { taken += size }
  }

  /// Clears the damage of an archive of which all files could be restored.
  mutating func forget(_ archive: String) {
    guard let former = damage.removeValue(forKey: archive) else { return }
    for path in former.paths { taken -= Self.line(path, in: archive).count }
  }

  /// - Parameter isPrivate: whether the file is in a folder of this machine, which is created if it is missing.
  func write(to path: PathBytes, isPrivate: Bool, isSynced: Bool, in run: RunContext) throws(BatchError) {
    if isPrivate { try FolderMaker(calls: run.calls).make(path.parent) }
    let file = try OutputFile(path, isReplacing: true, isSynced: isSynced, isPrivate: true, in: run)
    try file.write(lines)
    try file.finish()
  }

  var lines: [UInt8] {
    var lines = Self.line("drill", last)
    if let lastLarge { lines += Self.line("large", lastLarge) }
    for (archive, damage) in damage.sorted(by: { $0.key < $1.key }) {
      for path in damage.paths.sorted() { lines += Self.line(path, in: archive) }
      if damage.hasOthers { lines += Self.line(nil, in: archive) }
    }
    return lines
  }

  private static func line(_ path: PathBytes?, in archive: String) -> [UInt8] {
    var line = JSONLine("suspect")
    line.add("archive", archive)
    if let path { line.add(path: path) }
    return line.finished()
  }

  private static func line(_ type: String, _ place: Place?) -> [UInt8] {
    var line = JSONLine(type)
    if let place {
      line.add(path: place.source, as: "source")
      line.add(path: place.path)
    }
    return line.finished()
  }
}

extension BackupSet {
  /// The files with the results of drills, of the unencrypted and of the encrypted snapshots.
  var drillPaths: [PathBytes] { [false, true].compactMap { drillPath(isEncrypted: $0) } }

  /// When the last drill of the set was recorded, in seconds since 1970; nil if there was none.
  package var lastDrill: Int64? { drillPaths.compactMap { try? $0.status().modified.seconds }.max() }
}
