import BatchEngine
import Synchronization

/// The contents that the archives of the previous snapshot have, so that a file with one of them is recorded by a reference.
///
/// The table of contents is made when it is first needed, from the manifest of that snapshot. It takes 16 bytes for each file of it, and
/// the rows themselves stay in the manifest. The methods may be called on several threads at once.
final class KnownContents: Sendable {
  /// A content in the table.
  fileprivate struct Slot {
    /// A hash of the content.
    let content: UInt64
    /// The last 24 bits of the inode, a bit for the manifest, and the offset of the row in that, decompressed.
    let place: UInt64

    static let offsetBits: UInt64 = 39

    static func beginning(of inode: UInt64) -> UInt64 { inode << (offsetBits + 1) }

    var manifest: Int { Int(place >> Self.offsetBits & 1) }
    var offset: UInt64 { place & (1 << Self.offsetBits - 1) }
  }

  private struct Table {
    let manifests: [ManifestContent]
    let slots: [Slot]
    /// The sizes of the files that are read before they are archived.
    let largeSizes: Set<UInt64>
  }

  private enum State {
    case unread
    case read(Table)
    /// The manifest cannot be read: all contents are stored.
    case failed
  }

  private let files: [ManifestFile]
  private let damage: DamagedRows
  /// Archives whose contents count as unknown.
  private let unwanted: Set<String>
  private let context: SourceContext
  private let state = Mutex(State.unread)

  /// How many rows with the same hash are compared at most.
  private static let mostCompared = 8

  /// - Parameters:
  ///   - manifests: one or two, which were compared with their digests.
  ///   - damage: rows whose contents are damaged.
  ///   - unwanted: the stamps of archives whose contents are to be stored again.
  init(
    _ manifests: [ManifestFile], without damage: DamagedRows, in unwanted: Set<String>,
    _ context: SourceContext
  ) {
    (files, self.damage, self.unwanted, self.context) = (manifests, damage, unwanted, context)
  }

  /// Whether a large file may have a known content.
  func mayHave(size: UInt64) throws(BatchError) -> Bool {
    try withTable { (table) in table.largeSizes.contains(size) } ?? false
  }

  /// The row of the previous snapshot that has a content; that with the same inode if several have it.
  ///
  /// - Parameters:
  ///   - size: above 0.
  ///   - attributes: the digest of the extended attributes; nil without any.
  func row(
    size: UInt64, digest: Digest, attributes: Digest?, inode: UInt64
  ) throws(BatchError) -> SnapshotEntry? {
    let content = Self.hash(size: size, digest, attributes)
    return try withTable { (table) throws(BatchError) in
      let own = table.slots.first(content, from: Slot.beginning(of: inode))
      let all = table.slots.first(content, from: 0)
      for start in own == all ? [own] : [own, all] {
        for slot in table.slots[start...].prefix(Self.mostCompared) where slot.content == content {
          guard let entry = Self.row(at: slot.offset, of: table.manifests[slot.manifest]), entry.size == size,
            entry.digest == digest, entry.attributes == attributes
          else { continue }
          return entry
        }
      }
      return nil
    } ?? nil
  }

  // MARK: The table

  private func withTable<Result: Sendable>(
    _ body: @Sendable (Table) throws(BatchError) -> Result
  ) throws(BatchError) -> Result? {
    try state.withLock { (state) throws(BatchError) in
      if case .unread = state {
        do throws(BatchError) {
          state = .read(try readTable())
        } catch {
          try context.cancellation.check()
          state = .failed
        }
      }
      guard case .read(let table) = state else { return nil }
      return try body(table)
    }
  }

  private func readTable() throws(BatchError) -> sending Table {
    var slots = [Slot]()
    var sizes: Set<UInt64> = []
    for (number, file) in files.prefix(2).enumerated() {
      let reader = try SnapshotReader(file, in: context)
      while let item = try reader.next() {
        try context.cancellation.check()
        guard case .entry(let entry, _) = item, entry.kind == .file, entry.size > 0,
          let digest = entry.digest,
          reader.offset < 1 << Slot.offsetBits,
          !entry.places.contains(where: { unwanted.contains($0.archive) }), !damage.contains(entry)
        else { continue }
        slots.append(
          Slot(
            content: Self.hash(size: entry.size, digest, entry.attributes),
            place: Slot.beginning(of: entry.inode) | UInt64(number) << Slot.offsetBits | reader.offset))
        if entry.size >= BlockList.smallestFile { sizes.insert(entry.size) }
      }
    }
    slots.sort { ($0.content, $0.place) < ($1.content, $1.place) }
    var manifests = [ManifestContent]()
    for file in files { manifests.append(try ManifestContent(file, in: context)) }
    return Table(manifests: manifests, slots: slots, largeSizes: sizes)
  }

  private static func hash(size: UInt64, _ digest: Digest, _ attributes: Digest?) -> UInt64 {
    func start(_ digest: Digest) -> UInt64 { Array(digest.bytes.prefix(8))[...].little(at: 0) }
    return start(digest) ^ size &* 0x9E37_79B9_7F4A_7C15 ^ (attributes.map(start) ?? 0)
  }

  /// - Returns: nil if there is no row: the manifest was changed meanwhile.
  private static func row(at offset: UInt64, of manifest: ManifestContent) -> SnapshotEntry? {
    let start = Int64(offset)
    var size: Int64 = 1024
    while size <= 2 * Int64(SnapshotReader.longestLine) {
      guard let bytes = try? manifest.bytes(start..<(start + size)) else { return nil }
      if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
        let line = Array(bytes[..<end])
        var parser = SnapshotRowParser()
        return parser.entry(line) ?? (try? SnapshotEntry(SnapshotLine(line)))
      }
      guard bytes.count == size else { return nil }
      size *= 4
    }
    return nil
  }
}

extension [KnownContents.Slot] {
  /// The index of the first slot of a content whose place is not before another; the count if there is none.
  fileprivate func first(_ content: UInt64, from place: UInt64) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if (self[middle].content, self[middle].place) < (content, place) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}
