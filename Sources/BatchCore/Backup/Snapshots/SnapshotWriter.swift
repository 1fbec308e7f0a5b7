import BatchEngine

/// Writes a backup manifest, row by row.
final class SnapshotWriter {
  private static let bufferSize = 1 << 18

  let header: SnapshotHeader
  private let stream: any ResultStream
  private let digest: DigestStream
  private var frames: ManifestFrameWriter
  private var buffer: [UInt8] = []
  /// How many bytes of the buffer are in the digest.
  private var digested = 0
  /// The offset of the buffer in the decompressed manifest.
  private var offset: UInt64 = 0
  private(set) var footer = SnapshotFooter()

  init(_ header: SnapshotHeader, to stream: any ResultStream) throws(BatchError) {
    self.header = header
    self.stream = stream
    digest = try DigestStream(.sha256)
    frames = try ManifestFrameWriter()
    header.appendLine(to: &buffer)
  }

  func begin(_ source: SnapshotSource) throws(BatchError) {
    footer.sources.append(source)
    source.appendLine(as: "source", to: &buffer)
    try flushIfFull()
  }

  /// Records a mount point below the source of the last rows.
  func add(mount path: PathBytes) {
    guard let last = footer.sources.indices.last else { return }
    footer.sources[last].add(mount: path)
  }

  /// - Parameter isFurther: whether the row is a further name of a file, which adds no bytes.
  func append(_ entry: SnapshotEntry, isFurther: Bool = false) throws(BatchError) {
    entry.appendLine(to: &buffer)
    count(
      entry.kind, size: entry.size, archive: entry.archive, isRepeated: isFurther || entry.firstName != nil)
    for base in entry.bases {
      footer.needs[base.archive, default: .init()].add(files: 0, bytes: isFurther ? 0 : entry.size)
    }
    if entry.linkGroup != nil { footer.linked? += 1 }
    try flushIfFull()
  }

  /// Appends unchanged rows of the previous manifest.
  func append(_ kept: KeptRows) throws(BatchError) {
    buffer += kept.lines
    footer.rows += UInt64(kept.count)
    footer.linked? += kept.linked
    for (archive, need) in kept.needs {
      footer.needs[archive, default: .init()].add(files: need.files, bytes: need.bytes)
    }
    footer.bytes.addWithinRange(kept.bytes)
    footer.files += kept.files
    if !footer.sources.isEmpty { footer.sources[footer.sources.count - 1].files += kept.files }
    try flushIfFull()
  }

  private func count(_ kind: ArchiveEntry.Kind, size: UInt64, archive: String, isRepeated: Bool) {
    footer.rows += 1
    let isFile = kind != .directory
    // A further name of a file adds no bytes.
    let bytes = isRepeated ? 0 : size
    footer.needs[archive, default: .init()].add(files: isFile ? 1 : 0, bytes: bytes)
    footer.bytes.addWithinRange(bytes)
    guard isFile else { return }
    footer.files += 1
    if !footer.sources.isEmpty { footer.sources[footer.sources.count - 1].files += 1 }
  }

  /// Writes the lines after the rows; the file is renamed later.
  func finish(
    archiveSize: UInt64, index: Digest?, isVerified: Bool, reached: ReachedPath? = nil, failures: UInt64 = 0,
    selection: String, filter: SnapshotFilter? = nil,
    recipients: String = ""
  ) throws(BatchError) {
    footer.archiveSize = archiveSize
    footer.index = index
    footer.isVerified = isVerified
    (footer.isCut, footer.reached) = (reached != nil, reached)
    footer.failures = failures
    (footer.selection, footer.filter) = (selection, filter)
    footer.recipients = recipients
    // The last lines are in frames of their own, since the facts of a snapshot are read from them alone.
    try flush(isAll: true)
    try footer.appendLines(to: &buffer, offset: offset) { (bytes) throws(BatchError) in
      try digest.update(bytes.span.bytes)
      return try digest.finish()
    }
    digested = buffer.count
    try flush(isAll: true)
    try stream.write(frames.table())
  }

  private func flushIfFull() throws(BatchError) {
    if buffer.count >= Self.bufferSize { try flush(isAll: false) }
  }

  private func flush(isAll: Bool) throws(BatchError) {
    try withBytes(of: buffer) { (raw) throws(BatchError) in
      try digest.update(UnsafeRawBufferPointer(rebasing: raw[digested...]))
    }
    let count = buffer.count
    let compressed = try frames.take(from: &buffer, isAll: isAll)
    offset += UInt64(count - buffer.count)
    digested = buffer.count
    try stream.write(compressed)
  }
}

/// Consecutive unchanged rows of the previous manifest.
package struct KeptRows: Sendable {
  var lines: [UInt8] = []
  var count = 0
  /// How many of them an earlier part of the run has counted.
  var recounted = 0
  var files: UInt64 = 0
  var bytes: UInt64 = 0
  var linked: UInt64 = 0
  /// The archives that the rows need, usually one.
  var needs: [(archive: String, need: SnapshotFooter.Need)] = []
  /// The members of files whose blocks are recorded.
  var large: [SnapshotEntry.Place] = []

  /// - Parameter isFurther: whether the row is a further name of a file, which adds no bytes.
  mutating func append(_ entry: SnapshotEntry, line: [UInt8], isFurther: Bool = false) {
    lines += line
    lines.append(UInt8(ascii: "\n"))
    count += 1
    let isFile = entry.kind != .directory
    if isFile { files += 1 }
    if entry.linkGroup != nil { linked += 1 }
    if entry.size >= BlockList.smallestFile, entry.kind == .file { large.append(entry.place) }
    let bytes = entry.firstName == nil && !isFurther ? entry.size : 0
    self.bytes.addWithinRange(bytes)
    need(entry.archive) { $0.add(files: isFile ? 1 : 0, bytes: bytes) }
    for base in entry.bases { need(base.archive) { $0.add(files: 0, bytes: bytes) } }
  }

  private mutating func need(_ archive: String, _ add: (inout SnapshotFooter.Need) -> Void) {
    let place: Int
    if let known = needs.lastIndex(where: { $0.archive == archive }) {
      place = known
    } else {
      place = needs.count
      needs.append((archive, SnapshotFooter.Need()))
    }
    add(&needs[place].need)
  }
}
