import BatchEngine

/// Makes a segment again without some of its members: links to a file that is not in the archive.
struct SegmentRewriter {
  let options: ArchiveOptions

  /// - Parameter unusable: the positions of the members to leave out, in order.
  /// - Returns: the segment and the remaining members; no frame if none remain.
  func removing(
    _ unusable: [Int], from frame: ArchiveFrame, _ members: [ArchivedMember]
  ) throws(BatchError) -> (ArchiveFrame?, [ArchivedMember]) {
    let plain = try plainBytes(of: frame)
    var kept: [UInt8] = []
    kept.reserveCapacity(plain.count)
    var rest: [ArchivedMember] = []
    let left = Set(unusable)
    for (index, member) in members.enumerated() where !left.contains(index) {
      let end = index + 1 < members.count ? members[index + 1].offset : UInt64(plain.count)
      guard member.offset <= end, end <= UInt64(plain.count) else {
        throw BatchError(.invalid, "the members of a group are not in order", path: member.path)
      }
      var moved = member
      moved.offset = UInt64(kept.count)
      rest.append(moved)
      kept += plain[Int(member.offset)..<Int(end)]
    }
    guard !kept.isEmpty else { return (nil, []) }
    return (try options.frame(of: kept), rest)
  }

  private func plainBytes(of frame: ArchiveFrame) throws(BatchError) -> [UInt8] {
    guard let format = options.format.compression else { return frame.bytes }
    let decoder = try format.makeDecoder(by: .segmentCut)
    var plain: [UInt8] = []
    plain.reserveCapacity(Int(clamping: frame.plainSize))
    try withBytes(of: frame.bytes) { (raw) throws(BatchError) in
      do throws(DecodingError) {
        try decoder.decode(wholeFile: raw) { piece in plain.append(contentsOf: piece) }
      } catch {
        throw BatchError(.invalid, "a group that was just made cannot be read")
      }
    }
    return plain
  }
}

extension ArchiveOptions {
  /// The frame of these bytes, with their digest.
  ///
  /// - Parameter codec: one of the format and level; nil creates one, unless nothing is compressed.
  /// - Throws: `exhausted` when memory is missing.
  func frame(of plain: [UInt8], _ codec: (any CodecContext)? = nil) throws(BatchError) -> ArchiveFrame {
    let codec = if let codec { codec } else { try format.compression?.makeContext(level: level) }
    return ArchiveFrame(
      bytes: try codec?.compressed(plain) ?? plain, plainSize: UInt64(plain.count),
      content: try ArchiveFrame.content(of: plain))
  }
}
