import BatchEngine

/// The result of searching the end of a file for a member index.
struct IndexPlace {
  /// Where the part after the members begins; nil if unknown.
  let start: UInt64?
  /// The stored index; nil if it is unavailable.
  let index: IndexExtent?
  /// Other remarks about the end of the archive.
  var remarks: [String] = []
  /// The last block of a plain tar, after blanks.
  var lastBlock: [UInt8]?
  /// The record of the archive from which a compacted one was made; nil if there is none.
  var origin: [UInt8]?
  /// Compressed and plain sizes of frames in the format's own seek table, if it has one.
  var frameSizes: [(compressed: UInt64, plain: UInt64)]?

  /// An index exists, and is unusable.
  static func damaged(from start: UInt64? = nil) -> IndexPlace { IndexPlace(start: start, index: nil) }

  /// Whether the index and the seek table agree about the frames.
  func agrees(with index: MemberIndex) -> Bool {
    guard let frameSizes else { return true }
    var offset: UInt64 = 0
    var frames = index.frames[...]
    for entry in frameSizes {
      if let frame = frames.first, frame.compressed.lowerBound == offset {
        guard frame.compressedSize == entry.compressed, frame.plainSize == entry.plain else { return false }
        frames = frames.dropFirst()
      }
      offset += entry.compressed
    }
    return frames.isEmpty
  }
}

/// Searches the end of an archive of one format for a member index, where ``ArchiveTail`` puts it.
protocol IndexLocator {
  /// nil when there is no trace of an index.
  func locate() throws(BatchError) -> IndexPlace?
}
