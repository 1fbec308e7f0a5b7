import BatchEngine

/// An archive with a valid index.
struct IndexedArchive: Sendable {
  let file: ArchiveFile
  /// Nil if nothing is compressed.
  let format: CompressionFormat?
  let index: MemberIndex
  /// The error if the beginning of the file is not as in the index; nil if it is.
  var damagedStart: BatchError?

  /// The result of the search for an index.
  enum Finding {
    case none
    case found(IndexedArchive, remarks: [String])
    /// An index exists but is unusable: it is `malformed`, or needs too much memory (`exhausted`). Bytes after `from` belong to
    /// no member.
    case unusable(BatchError, from: UInt64?)
  }

  /// Searches an index at the end of a file.
  ///
  /// - Parameters:
  ///   - checks: whether digests and header checksums are needed; they are most of an index.
  ///   - memory: memory for the index, in bytes.
  /// - Throws: the error of reading. A damaged index, or a disk error within it, is returned as a finding.
  static func find(
    in file: ArchiveFile, checks: Bool, memory: Int, by right: ReadingRight
  ) throws(BatchError) -> Finding {
    do throws(BatchError) {
      return try search(file, checks: checks, memory: memory, by: right)
    } catch {
      // Members that are still readable can be read without the index.
      guard error.isOfDevice || (file.isEncrypted && error.code == .malformed) else { throw error }
      return .unusable(BatchError(.malformed, "the member index cannot be read"), from: nil)
    }
  }

  private static func search(
    _ file: ArchiveFile, checks: Bool, memory: Int, by right: ReadingRight
  ) throws(BatchError) -> Finding {
    guard let size = file.size, size >= UInt64(CompressionFormat.detectionLength) else { return .none }
    let start = try file.bytes(at: 0, count: CompressionFormat.detectionLength)
    if let format = CompressionFormat.detect(start) {
      return try search(file, size: size, as: format, checks: checks, memory: memory, by: right)
    }
    let finding = try search(file, size: size, as: nil, checks: checks, memory: memory, by: right)
    switch finding {
    case .unusable: return finding
    case .found(var archive, let remarks):
      if archive.index.count > 0, start.allSatisfy({ $0 == 0 }) { archive.damagedStart = lostStart(of: file) }
      return .found(archive, remarks: remarks)
    case .none: break
    }
    // The first block may be lost. A valid index that describes the file from its first byte is sufficient proof.
    for format in ArchiveFormat.all.compactMap(\.compression) {
      let other = try search(file, size: size, as: format, checks: checks, memory: memory, by: right)
      guard case .found(var archive, let remarks) = other else { continue }
      archive.damagedStart = lostStart(of: file)
      return .found(archive, remarks: remarks)
    }
    return .none
  }

  private static func lostStart(of file: ArchiveFile) -> BatchError {
    BatchError(
      .malformed, "damaged: its first bytes are lost; its members are known from its index", path: file.path)
  }

  /// - Parameter format: the compression of the archive; nil for a plain tar.
  private static func search(
    _ file: ArchiveFile, size: UInt64, as format: CompressionFormat?, checks: Bool, memory: Int,
    by right: ReadingRight
  ) throws(BatchError) -> Finding {
    let room = UInt64(max(0, memory))
    let locator: (any IndexLocator)? =
      switch format?.codec.index {
      case .seekTable: ZstdIndexLocator(file: file, size: size, memory: room)
      case .skippableFrames: LZ4IndexLocator(file: file, size: size, memory: room)
      case .extraFields: GzipIndexLocator(file: file, size: size, memory: room)
      case .lastStream: XZIndexLocator(file: file, size: size, memory: room, right: right)
      case .streams: BZip2IndexLocator(file: file, size: size, memory: room, right: right)
      case nil: format == nil ? TarIndexLocator(file: file, size: size) : nil
      }
    let place: IndexPlace
    do throws(BatchError) {
      guard let found = try locator?.locate() else { return .none }
      place = found
    } catch {
      guard error == StoredIndex.tooLarge else { throw error }
      return .unusable(error, from: nil)
    }
    do throws(BatchError) {
      guard let stored = place.index, let start = place.start else { throw StoredIndex.damaged }
      // The frames of a plain tar may have been compressed before, and need not fit into it.
      var index = try StoredIndex.read(
        stored, checks: checks, size: format == nil ? .max : size, memory: memory)
      var tailRemarks = place.remarks
      if format == nil, let end = index.frames.last?.compressed.upperBound, end != start {
        index = index.ofDecompressed
        // In a .tar.bz2 that block also says where the index begins.
        if place.lastBlock == TailBlock(indexLength: stored.count, offset: end).bytes { tailRemarks = [] }
      }
      guard index.frames.last?.compressed.upperBound == start else {
        return .unusable(BatchError(.malformed, "the member index belongs to another archive"), from: nil)
      }
      var remarks = place.agrees(with: index) ? [] : ["the seek table is damaged"]
      if let record = place.origin {
        index.origin = try OriginRecord.read(record, index: index.digest)
        if index.origin == nil {
          remarks.append("the record of the archive before its compaction is damaged")
        }
      }
      return .found(
        IndexedArchive(file: file, format: format, index: index), remarks: tailRemarks + remarks)
    } catch {
      guard error == StoredIndex.tooLarge || error.code == .malformed else { throw error }
      return .unusable(error, from: place.start)
    }
  }

  /// The decoded content of a part of the tail; nil if it cannot be decoded to its end.
  ///
  /// - Throws: `exhausted` when memory is missing.
  static func decode(
    _ compressed: [UInt8], of format: CompressionFormat, limit: UInt64, _ decoding: DecoderOptions,
    by right: ReadingRight
  ) throws(BatchError) -> [UInt8]? {
    var decoding = decoding
    decoding.maximumOutput = limit
    let decoder = try format.makeDecoder(decoding, by: right)
    var bytes = [UInt8]()
    do throws(BatchError) {
      let damage = try withBytes(of: compressed) { (raw) throws(BatchError) in
        try FileDecoder.damage { () throws(DecodingError) in
          try decoder.decode(raw) { (piece) throws(BatchError) in bytes.append(contentsOf: piece) }
          try decoder.finish()
        }
      }
      return damage == nil ? bytes : nil
    } catch {
      // Our indexes have no such window, dictionary or filter: they come from damage.
      return nil
    }
  }
}
