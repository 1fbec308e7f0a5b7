import BatchEngine

/// The row of a path that is archived, as far as the walk knows it.
package struct PlannedRow: Sendable {
  /// The number of the row, which its member in the archive has too; it increases in the order of the tree, from 1.
  let number: UInt64
  var entry: SnapshotEntry
}

/// A large file of a snapshot that has a previous one. It is read before it is archived, since its content, or a part of it, may
/// be stored already.
package final class ProbedFile: Sendable {
  let record: FileRecord
  /// How it is archived whole.
  let item: ArchiveItem
  let row: PlannedRow
  /// The row of its path in the previous snapshot; nil if there is none, or if it cannot be used.
  let before: SnapshotEntry?

  init(_ record: FileRecord, _ item: ArchiveItem, _ row: PlannedRow, before: SnapshotEntry?) {
    (self.record, self.item, self.row, self.before) = (record, item, row, before)
  }

  var size: UInt64 { UInt64(clamping: record.status.size) }

  var dataMap: [Range<UInt64>]? {
    switch item {
    case .header(let member), .block(let member, _): member.dataMap
    case .member(_, let map): map
    case .link: nil
    }
  }

  /// The items that archive it whole.
  var items: [(item: ArchiveItem, row: PlannedRow?)] {
    guard case .header(let member) = item else { return [(item, row)] }
    return Self.items(of: member, row)
  }

  static func items(of member: LargeMember, _ row: PlannedRow) -> [(item: ArchiveItem, row: PlannedRow?)] {
    [(.header(member), row)] + (0..<member.blockCount).map { (.block(member, index: $0), nil) }
  }
}

/// The blocks of a file that differ from the version of the previous snapshot, and its row.
package struct ChangedBlocks: Sendable {
  /// Bytes of all bases of a row: a line of a manifest has at most 1 MiB.
  private static let mostOfBases = 1 << 18
  private static let longestName = 255

  let member: LargeMember
  /// The complete row, once the member is in the archive.
  let entry: SnapshotEntry
  let record: BlocksRecord

  /// - Parameters:
  ///   - entry: the row with the digest of the file, and without its place.
  ///   - before: the row of the version before, and its blocks.
  ///   - list: the blocks of the file.
  ///   - isTaken: whether a file beside it has a name.
  /// - Returns: nil if the file is to be stored whole.
  init?(
    _ file: ProbedFile, _ entry: SnapshotEntry, since before: (entry: SnapshotEntry, blocks: BlocksRecord),
    _ list: BlockList, stamp: String, frameSize: Int, isTaken: ([UInt8]) -> Bool
  ) {
    var changes = list.changes(since: before.blocks.list)
    var ofWhole = changes
    for (index, isChanged) in (before.blocks.changed ?? []).enumerated()
    where isChanged && index < ofWhole.count { ofWhole[index] = true }
    var bases = before.entry.places
    if bases.count >= SnapshotEntry.mostPlaces {
      // One member with all that differs from the whole file takes the place of the others.
      changes = ofWhole
      bases = Array(bases.suffix(1))
    }
    guard !changes.isEmpty, changes.count(where: { $0 }) * 2 <= changes.count,
      bases.reduce(0, { $0 + $1.member.bytes.count }) < Self.mostOfBases
    else { return nil }
    // A member needs content: other tools take an empty map for a file without data.
    if !changes.contains(true) { changes[changes.count - 1] = true }
    member = LargeMember(
      file.record, dataMap: list.ranges(of: changes), blockSize: frameSize,
      partPath: Self.path(of: file, stamp: stamp, isTaken: isTaken))
    record = BlocksRecord(list: list, changed: ofWhole)
    var entry = entry
    entry.archive = stamp
    entry.member = member.partPath
    entry.bases = bases
    self.entry = entry
  }

  /// The path of the member: that of the file with a suffix. A name that would be too long is shortened, and a name that is taken, or
  /// shortened, gets the number of the row.
  private static func path(of file: ProbedFile, stamp: String, isTaken: ([UInt8]) -> Bool) -> PathBytes {
    let path = file.row.entry.path.bytes
    let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    var name = Array(path[start...])
    var suffix = Array(".changed-blocks-\(stamp)".utf8)
    if name.count + suffix.count > longestName || isTaken(name + suffix) {
      suffix += Array("-\(file.row.number)".utf8)
      if name.count + suffix.count > longestName {
        name = Array(name.prefix(longestName - suffix.count))
        // A character is not cut in its middle.
        while let last = name.last, last & 0xC0 == 0x80 { name.removeLast() }
        if let last = name.last, last >= 0xC0 { name.removeLast() }
      }
    }
    return PathBytes(path[..<start] + name + suffix)
  }
}
