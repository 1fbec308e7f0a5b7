import BatchEngine
import BatchOutputs

/// Writes a plan during a walk: one file of entries, in which each shard is a range.
///
/// Memory does not grow with the entries: only some thousand borders between chunks are kept, those nearest to where ranges may
/// end.
package final class PlanMaker {
  /// A border between two chunks.
  private struct Border {
    var offset: UInt64 = 0
    var entries = 0
    var bytes: Int64 = 0
    /// Bytes of content that are processed.
    var work: Int64 = 0
    var cost: Int64 = 0
    /// The offset of the record of the preceding entries' folder; nil before the first one.
    var folder: UInt64?
  }

  /// The cost of a file in addition to its content, in bytes.
  private static let costOfEntry: Int64 = 32 << 10
  private static let bordersOfShard = 256
  private static let fewestBorders = 8192
  private static let bufferSize = 1 << 20

  private let folder: PlanFolder
  private let asked: Int
  private let run: RunContext
  private let file: AtomicFile
  private var chunks: ChunkBorders
  private var writer = PlanRecordWriter()
  private var buffer: [UInt8] = []
  /// The position after the last entry.
  private var position = Border()
  private var borders: [Border] = []
  /// A further name of a file, which belongs to the shard of the first name: stored in a separate file until the ranges are known.
  private struct HardLinkItem {
    /// The offset of the first name in the file of entries.
    let first: UInt64
    /// The offset in the separate file.
    let offset: UInt64
    let length: Int
  }

  private var firsts: [FileIdentity: UInt64] = [:]
  private var further: [HardLinkItem] = []
  private var aside: AtomicFile?
  private var asideBuffer: [UInt8] = []
  private var asideSize: UInt64 = 0
  /// The least cost between two borders that are kept.
  private var spacing: Int64 = 0

  /// Creates the folder of the plan if it is missing.
  ///
  /// - Throws: `invalid` when it contains a plan; `untrusted` when another user can change it; the error of creating files in it.
  package init(
    in path: PathBytes, shards asked: Int, stride: ChunkStride, _ run: RunContext
  ) throws(BatchError) {
    try FolderMaker(calls: run.calls).make(path, permissions: 0o755)
    folder = try PlanFolder(path, calls: run.calls)
    self.asked = asked
    self.run = run
    if try folder.has(ShardPlan.fileName) {
      throw BatchError(
        .invalid, "the folder has a plan already", path: path,
        remedy: "choose another one, or remove it")
    }
    file = try folder.newFile(ShardPlan.entriesName, replacing: true)
    chunks = ChunkBorders(stride)
    buffer.reserveCapacity(Self.bufferSize + 4096)
  }

  /// Adds the next step of the walk.
  ///
  /// - Parameters:
  ///   - listed: the status of its folder when it was listed.
  ///   - first: the first path of the file, if the item is a further name.
  ///   - mayHaveRival: whether a file beside it may have the same output.
  ///   - measure: of each item that it becomes.
  ///   - items: how many items it becomes, 1 or more.
  ///   - bytes: bytes of content that will be counted.
  ///   - work: bytes of content that will be processed, which may be fewer; nil for the same.
  package func add(
    _ walked: Walked, listed: FileStatus?, first: PathBytes? = nil, mayHaveRival: Bool = false,
    measure: ItemMeasure, items: Int = 1, bytes: Int64, work: Int64? = nil
  ) throws(BatchError) {
    try add(measure, items: items, bytes, work: work ?? bytes) { writer, buffer in
      writer.append(
        walked, listed: listed, first: first, mayHaveRival: mayHaveRival, to: &buffer)
    }
  }

  /// Adds the next line of a manifest.
  ///
  /// - Parameter bytes: the size of the file that it names.
  func add(_ row: CheckLine, bytes: Int64) throws(BatchError) {
    try add(ItemMeasure(weight: bytes), bytes, work: bytes) { writer, buffer in
      writer.append(row, to: &buffer)
    }
  }

  /// - Parameter append: writes the records of the entry; returns the offset of the record of its folder or manifest, if it wrote one.
  private func add(
    _ measure: ItemMeasure, items: Int = 1, _ bytes: Int64, work: Int64,
    _ append: (inout PlanRecordWriter, inout [UInt8]) -> Int?
  ) throws(BatchError) {
    var ends = chunks.add(measure)
    // Only the borders before and after all of them are places where a shard may end.
    for _ in 1..<max(1, items) { ends.after = chunks.add(measure).after }
    if ends.before { note(position) }
    let start = position.offset
    let count = buffer.count
    if let record = append(&writer, &buffer) {
      position.folder = start + UInt64(record - count)
    }
    position.offset += UInt64(buffer.count - count)
    position.entries += 1
    let work = max(0, work)
    position.bytes.addClamped(max(0, bytes))
    position.work.addClamped(work)
    position.cost += min(work, .max / 4 - min(.max / 4, position.cost))
    position.cost += min(Self.costOfEntry, .max / 2 - min(.max / 2, position.cost))
    if ends.after { note(position) }
    if buffer.count >= Self.bufferSize { try flush() }
  }

  /// Adds the next file of the walk; a further name belongs to the shard of the first name.
  package func addToFirst(
    _ walked: Walked, listed: FileStatus?, mayHaveRival: Bool, measure: ItemMeasure, bytes: Int64
  ) throws(BatchError) {
    var first: UInt64?
    if case .item(.file(let record)) = walked, record.status.kind == .regular, record.status.linkCount > 1 {
      first = firsts[record.status.identity]
      if first == nil { firsts[record.status.identity] = position.offset }
    }
    guard let first else {
      return try add(walked, listed: listed, mayHaveRival: mayHaveRival, measure: measure, bytes: bytes)
    }
    let start = asideBuffer.count
    var writer = PlanRecordWriter()
    _ = writer.append(walked, listed: nil, first: nil, mayHaveRival: mayHaveRival, to: &asideBuffer)
    let length = asideBuffer.count - start
    further.append(HardLinkItem(first: first, offset: asideSize, length: length))
    asideSize += UInt64(length)
    if asideBuffer.count >= Self.bufferSize { try flushAside() }
  }

  private func flushAside() throws(BatchError) {
    if aside == nil { aside = try folder.newFile("plan.further", replacing: true) }
    try withBytes(of: asideBuffer) { (raw) throws(BatchError) in try aside?.write(raw) }
    asideBuffer.removeAll(keepingCapacity: true)
  }

  /// Appends the further names from the separate file to the entries, in the order of the first names.
  ///
  /// - Returns: the range of each shard.
  private func appendFurther(to ranges: [(Border, Border)]) throws(BatchError)
    -> [(range: ShardPlan.Further, entries: Int)?]
  {
    var found = [(range: ShardPlan.Further, entries: Int)?](repeating: nil, count: ranges.count)
    guard !further.isEmpty else { return found }
    try flushAside()
    guard let aside else { return found }
    let source = Descriptor(owning: try aside.openForReading(syncing: false))
    // Stable: names of one file stay in the order of the tree.
    further.sort { ($0.first, $0.offset) < ($1.first, $1.offset) }
    let digest = try DigestStream(.sha256)
    var (next, end) = (0, position.offset)
    for (index, range) in ranges.enumerated() {
      let (start, earlier) = (end, next)
      while next < further.count, further[next].first < range.1.offset {
        try run.cancellation.check()
        let name = further[next]
        let raw = source.raw
        let bytes = try [UInt8](upTo: name.length) { (room) throws(BatchError) in
          try run.calls.fill(room, from: raw, at: name.offset, path: aside.target)
        }
        guard bytes.count == name.length else { throw .syscall("read back", errno: 0, path: aside.target) }
        try digest.update(bytes.span.bytes)
        try file.write(bytes.span)
        end += UInt64(name.length)
        next += 1
      }
      guard end > start else { continue }
      found[index] = (
        ShardPlan.Further(range: start..<end, digest: try digest.finish()), next - earlier
      )
    }
    aside.discard()
    return found
  }

  private func note(_ border: Border) {
    if let last = borders.last, border.offset == last.offset || border.cost - last.cost < spacing {
      return
    }
    borders.append(border)
    let most = max(Self.fewestBorders, min(asked, ShardPlan.mostShards) * Self.bordersOfShard)
    guard borders.count >= most else { return }
    spacing = max(1, position.cost / Int64(most / 2))
    var kept: [Border] = []
    for border in borders where kept.last.map({ border.cost - $0.cost >= spacing }) ?? true {
      kept.append(border)
    }
    borders = kept
  }

  private func flush() throws(BatchError) {
    try withBytes(of: buffer) { (raw) throws(BatchError) in try file.write(raw) }
    buffer.removeAll(keepingCapacity: true)
  }

  /// Cuts the entries into shards, and renames both files of the plan to their final names.
  ///
  /// - Parameter fewestBytes: the least bytes of a shard, if there are several.
  package func finish(
    version: String, command: String, arguments: [PathBytes], operandCount: Int, filtered: Int,
    fewestBytes: Int64?, isSynced: Bool
  ) throws(BatchError) -> ShardPlan {
    try flush()
    let ranges = ranges(count: count(fewestBytes))
    let digests = try digests(of: ranges)
    let further = try appendFurther(to: ranges)
    var shards: [ShardPlan.Shard] = []
    let descriptor = Descriptor(owning: try file.openForReading(syncing: false))
    for (index, range) in ranges.enumerated() {
      let (start, end) = range
      shards.append(
        ShardPlan.Shard(
          index: index, offset: start.offset, length: end.offset - start.offset,
          entries: end.entries - start.entries + (further[index]?.entries ?? 0),
          bytes: end.bytes - start.bytes,
          cost: end.cost - start.cost, digest: digests[index],
          folder: try start.folder.map { (offset) throws(BatchError) in try record(at: offset, descriptor) }
            ?? [], further: further[index]?.range))
    }
    let lines = try ShardPlan.finished(
      ShardPlan.lines(
        version: version, command: command, workingFolder: WorkingFolder.path, arguments: arguments,
        asked: asked, operandCount: operandCount, filtered: filtered, shards: shards))
    let plan = try ShardPlan(lines)
    try run.cancellation.check()
    // A plan that a group may write to would be refused.
    let metadata = AtomicFile.Metadata(permissions: AtomicFile.defaultPermissions & 0o644)
    try file.commit(metadata, syncing: isSynced, by: run.commits)
    let head = try folder.newFile(ShardPlan.fileName, replacing: false)
    try head.write(lines.span)
    try head.commit(metadata, syncing: isSynced, by: run.commits)
    return plan
  }

  package func discard() {
    file.discard()
    aside?.discard()
  }

  private func count(_ fewestBytes: Int64?) -> Int {
    guard let fewestBytes, fewestBytes > 0 else { return asked }
    return min(asked, max(1, Int(clamping: position.work / fewestBytes)))
  }

  /// Ranges of about the same cost, none of them empty; no range if there are no entries.
  private func ranges(count: Int) -> [(Border, Border)] {
    guard position.entries > 0 else { return [] }
    let ends = borders.filter { $0.offset < position.offset && $0.offset > 0 } + [position]
    let cuts = EvenCuts.places(ends.map { $0.cost }, count: count).map { ends[$0] }
    return zip([Border()] + cuts, cuts).map { ($0, $1) }
  }

  private func digests(of ranges: [(Border, Border)]) throws(BatchError) -> [Digest] {
    let stream = try DigestStream(.sha256)
    var digests: [Digest] = []
    var offset: UInt64 = 0
    try file.readBack { (piece) throws(BatchError) in
      try run.cancellation.check()
      var rest = piece[...]
      while !rest.isEmpty, digests.count < ranges.count {
        let end = ranges[digests.count].1.offset
        let count = Int(min(UInt64(rest.count), end - offset))
        try stream.update(UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
        rest = rest.dropFirst(count)
        offset += UInt64(count)
        if offset == end { digests.append(try stream.finish()) }
      }
    }
    guard digests.count == ranges.count else {
      throw BatchError(.unwritable, "is not what was written", path: file.target)
    }
    return digests
  }

  /// A record without its NUL.
  private func record(at offset: UInt64, _ file: borrowing Descriptor) throws(BatchError) -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while true {
      let raw = file.raw
      let place = Int(clamping: offset + UInt64(bytes.count))
      let count = piece.withUnsafeMutableBytes { run.calls.read(raw, into: $0, at: place) }
      guard count > 0 else { throw .syscall("read back", errno: Int32(truncatingIfNeeded: -count)) }
      let part = piece[..<count].prefix { $0 != 0 }
      bytes += part
      if part.count < count { return bytes }
    }
  }
}

/// Cuts a sequence of costs into contiguous ranges, so that the most expensive range costs as little as possible.
enum EvenCuts {
  /// - Parameters:
  ///   - ends: the cumulative cost at each place where a range may end; the last one is the total.
  ///   - count: the most ranges, 1 or more.
  /// - Returns: the places where ranges end, sorted and including the last one. An indivisible piece that costs more than the
  ///   other ranges is a separate range.
  static func places(_ ends: [Int64], count: Int) -> [Int] {
    guard let total = ends.last else { return [] }
    var low = total / Int64(max(1, count))
    var high = total
    while low < high {
      let middle = low + (high - low) / 2
      if cut(ends, at: middle).count <= count { high = middle } else { low = middle + 1 }
    }
    return cut(ends, at: high)
  }

  /// Ranges that are as long as possible but cost at most a limit.
  private static func cut(_ ends: [Int64], at limit: Int64) -> [Int] {
    var places: [Int] = []
    var start: Int64 = 0
    var next = 0
    while next < ends.count {
      var place = next
      while place + 1 < ends.count, ends[place + 1] - start <= limit { place += 1 }
      places.append(place)
      start = ends[place]
      next = place + 1
    }
    return places
  }
}
