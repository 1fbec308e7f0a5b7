/// Finds the index of a `.tar.zst`: skippable frames before a seek table in zstd's own seekable format.
struct ZstdIndexLocator {
  static let indexMagic: UInt32 = 0x184D_2A5A
  static let seekMagic: UInt32 = 0x184D_2A5E
  static let seekFooter: UInt32 = 0x8F92_EAB1
  static let payloadMark = Array("BPIX".utf8)
  static let version: UInt8 = 1
  /// A flag that is not known may change what the slices mean.
  static let knownFlags: UInt8 = 0
  private static let footerSize: UInt64 = 9
  private static let headerSize: UInt64 = 8
  private static let payloadHeader = 6
  /// A skippable frame's length has 32 bits; no index of ours comes near it.
  private static let largestFrame: UInt64 = 1 << 30

  let file: ArchiveFile
  let size: UInt64

  private struct SeekTable {
    /// Compressed and plain size of each frame.
    let entries: [(compressed: UInt64, plain: UInt64)]
    let start: UInt64
  }

  func find() throws(BatchError) -> IndexedArchive.Finding {
    guard let table = try seekTable(), let frames = indexFrames(of: table), let first = frames.first,
      !(try ours(of: frames).isEmpty)
    else { return try findByScan() }
    do throws(BatchError) {
      guard let compressed = try payload(of: frames) else { throw Self.damaged }
      let index = try IndexedArchive.decode(compressed, size: size)
      guard agrees(table, with: index) else { return try findByScan() }
      return found(index, at: first.lowerBound, remarks: [])
    } catch {
      if error.code != .malformed { throw error }
      return .damaged(error)
    }
  }

  private static let damaged = BatchError(.malformed, "the member index is damaged")

  private func ours(of frames: [Range<UInt64>]) throws(BatchError) -> [Range<UInt64>] {
    var ours = [Range<UInt64>]()
    for frame in frames where try isOurs(frame) { ours.append(frame) }
    return ours
  }

  /// Whether a frame has the number of an index frame, or its mark: one of them may be damaged.
  private func isOurs(_ frame: Range<UInt64>) throws(BatchError) -> Bool {
    let length = Int(min(frame.upperBound - frame.lowerBound, Self.headerSize + 4))
    let start = try file.bytes(at: frame.lowerBound, count: length)
    var reader = LittleEndianReader(start[...])
    return reader.number(UInt32.self) == Self.indexMagic
      || start.dropFirst(Int(Self.headerSize)).elementsEqual(Self.payloadMark)
  }

  private func found(
    _ index: MemberIndex, at start: UInt64, remarks: [String]
  ) -> IndexedArchive.Finding {
    .found(IndexedArchive(file: file, format: .zst, index: index, indexStart: start), remarks: remarks)
  }

  // MARK: By the seek table

  /// nil when the file does not end in one that fits it.
  private func seekTable() throws(BatchError) -> SeekTable? {
    guard size >= Self.footerSize + Self.headerSize else { return nil }
    var footer = LittleEndianReader(
      try file.bytes(at: size - Self.footerSize, count: Int(Self.footerSize))[...])
    guard let count = footer.number(UInt32.self), let descriptor = footer.number(UInt8.self),
      footer.number(UInt32.self) == Self.seekFooter
    else { return nil }
    guard descriptor & 0x7F == 0 else { return nil }
    let entrySize: UInt64 = descriptor & 0x80 != 0 ? 12 : 8
    let payload = UInt64(count) * entrySize + Self.footerSize
    guard payload <= Self.largestFrame, payload + Self.headerSize <= size else { return nil }
    let start = size - payload - Self.headerSize
    var reader = LittleEndianReader(try file.bytes(at: start, count: Int(size - start))[...])
    guard reader.number(UInt32.self) == Self.seekMagic,
      reader.number(UInt32.self).map(UInt64.init) == payload
    else { return nil }
    var entries = [(compressed: UInt64, plain: UInt64)]()
    var end: UInt64 = 0
    for _ in 0..<count {
      guard let compressed = reader.number(UInt32.self), let plain = reader.number(UInt32.self) else {
        return nil
      }
      if entrySize == 12 { _ = reader.number(UInt32.self) }
      entries.append((UInt64(compressed), UInt64(plain)))
      end += UInt64(compressed)
    }
    return end == start ? SeekTable(entries: entries, start: start) : nil
  }

  /// The last frames without content, which hold the index.
  private func indexFrames(of table: SeekTable) -> [Range<UInt64>]? {
    var frames = [Range<UInt64>]()
    var end = table.start
    for entry in table.entries.reversed() {
      guard entry.plain == 0 else { break }
      guard entry.compressed <= end else { return nil }
      frames.append((end - entry.compressed)..<end)
      end -= entry.compressed
    }
    return frames.reversed()
  }

  /// Whether the seek table, which others read, and the index say the same of the frames.
  private func agrees(_ table: SeekTable, with index: MemberIndex) -> Bool {
    var offset: UInt64 = 0
    var frames = index.frames[...]
    for entry in table.entries {
      if let frame = frames.first, frame.compressed.lowerBound == offset {
        guard frame.compressedSize == entry.compressed, frame.plainSize == entry.plain else { return false }
        frames = frames.dropFirst()
      }
      offset += entry.compressed
    }
    return frames.isEmpty
  }

  /// The slices of the index in one; nil when a frame holds something else.
  private func payload(of frames: [Range<UInt64>]) throws(BatchError) -> [UInt8]? {
    var bytes = [UInt8]()
    for frame in frames {
      let length = frame.upperBound - frame.lowerBound
      guard length >= Self.headerSize + UInt64(Self.payloadHeader), length <= Self.largestFrame else {
        return nil
      }
      let content = try file.bytes(at: frame.lowerBound, count: Int(length))
      var reader = LittleEndianReader(content[...])
      guard reader.number(UInt32.self) == Self.indexMagic,
        reader.number(UInt32.self).map(UInt64.init) == length - Self.headerSize,
        reader.take(Self.payloadMark.count)?.elementsEqual(Self.payloadMark) == true,
        reader.number(UInt8.self) == Self.version, reader.number(UInt8.self) == Self.knownFlags
      else { return nil }
      bytes += content[reader.position...]
    }
    return bytes
  }

  // MARK: By going over the frames

  /// Looks where an index lies without help of the seek table.
  private func findByScan() throws(BatchError) -> IndexedArchive.Finding {
    var frames = [Range<UInt64>]()
    let scanner = ZstdFrameScanner(size: size)
    let isWhole = try scanner.skippableFrames { (offset, buffer) throws(BatchError) in
      try file.read(at: offset, into: buffer)
    } found: { frame in
      frames.append(frame)
    }
    frames = try ours(of: frames)
    guard let first = frames.first else { return .none }
    do throws(BatchError) {
      guard let compressed = try payload(of: frames) else { throw Self.damaged }
      let index = try IndexedArchive.decode(compressed, size: size)
      let remark = isWhole ? "the seek table is damaged" : "the archive is damaged behind the index"
      return found(index, at: first.lowerBound, remarks: [remark])
    } catch {
      if error.code != .malformed { throw error }
      return .damaged(error)
    }
  }
}
