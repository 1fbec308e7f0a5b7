import BatchEngine

/// What the end of a file says of a member index.
struct IndexPlace {
  /// Where the part behind the members begins; nil where this is unknown.
  let start: UInt64?
  /// The index as it is stored; nil where it is unavailable.
  let index: IndexExtent?
  /// What else is odd about the end of the archive.
  var remarks: [String] = []
  /// Compressed and plain sizes of frames, where there is a second list of them, for readers of other kinds.
  var frameSizes: [(compressed: UInt64, plain: UInt64)]?

  /// An index exists, and is unusable.
  static func damaged(from start: UInt64? = nil) -> IndexPlace { IndexPlace(start: start, index: nil) }

  /// Whether both lists of frames say the same.
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

/// Looks at the end of an archive of one kind for a member index; where ``ArchiveTail`` puts it.
protocol IndexLocator {
  /// nil when nothing says that there is one.
  func locate() throws(BatchError) -> IndexPlace?
}
