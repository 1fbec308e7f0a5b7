import BatchEngine

/// The index at the end of our archives: the place of each member, and the digest of its content.
///
/// It is used only if its own digest is correct, and even then every number in it is checked against the file.
struct MemberIndex: Sendable {
  /// A range of the file that can be decoded by itself.
  struct Frame: Sendable, Hashable {
    let compressed: Range<UInt64>
    /// The range of its content in the decoded archive.
    let plain: Range<UInt64>
    /// The CRC-32 of its bytes in the file; nil if the archive was decompressed after it was made.
    let check: UInt32?

    var plainSize: UInt64 { plain.upperBound - plain.lowerBound }
    var compressedSize: UInt64 { compressed.upperBound - compressed.lowerBound }
  }

  /// Consecutive frames that contain whole members.
  struct Group: Sendable {
    let frames: Range<Int>
    let members: Range<Int>
  }

  static let magic = Array("BPIDX004".utf8)
  static let magicOfVersion3 = Array("BPIDX003".utf8)
  /// The size of the numbers and the digest at the end of a stored index.
  static let trailerSize = 48

  /// Total bytes of all files, as stated by the index.
  let totalBytes: UInt64
  /// Total bytes of all files, as the sum over the members.
  let memberBytes: UInt64
  let frames: [Frame]
  let groups: [Group]
  /// The digest of the whole index, including the digests of the members, as stored at its end.
  let digest: Digest
  let count: Int
  let pages: IndexPages
  /// The CRC-32 of all members' headers, then the digests; nil if they were not requested.
  let checks: IndexPart?
  /// The archive from which a compacted one was made; nil for an archive that was not compacted.
  var origin: StoredArchive?

  /// The range of a member in the content of its group: from its first header to that of the next member.
  ///
  /// - Parameter members: the members of the group.
  func place(of number: Int, in group: Group, _ members: IndexSlice) -> Range<UInt64> {
    let base = frames[group.frames.lowerBound].plain.lowerBound
    func start(_ number: Int) -> UInt64 {
      let start = members.start(of: number)
      return frames[start.frame].plain.lowerBound - base + start.offset
    }
    let end = frames[group.frames.upperBound - 1].plain.upperBound - base
    return start(number)..<(number + 1 < group.members.upperBound ? start(number + 1) : end)
  }

  /// The offset of a member's headers in the content of its group.
  func start(of member: ArchivedMember, in group: Group) -> UInt64 {
    let base = frames[group.frames.lowerBound].plain.lowerBound
    return frames[member.frame].plain.lowerBound - base + member.offset
  }

  /// The weight of a group for the planner; an index may claim sums that overflow.
  func weight(of group: Group) -> Int64 {
    guard let first = group.frames.first, let last = group.frames.last else { return 0 }
    return Int64(min(frames[last].plain.upperBound - frames[first].plain.lowerBound, 1 << 40))
  }
}

extension MemberIndex {
  var hasFrameChecks: Bool { frames.allSatisfy { $0.check != nil } }

  /// The same index for the plain tar that is made by decompressing the archive. In xz and bzip2 the index is inside of a
  /// stream, so a stock tool decompresses it with the rest.
  var ofDecompressed: MemberIndex {
    MemberIndex(
      totalBytes: totalBytes, memberBytes: memberBytes,
      frames: frames.map { Frame(compressed: $0.plain, plain: $0.plain, check: nil) }, groups: groups,
      digest: digest, count: count, pages: pages, checks: checks)
  }

  /// The number of members and the bytes of their contents, as the total of a run.
  var total: (members: Int, bytes: UInt64) { (count, totalBytes) }

  /// The offsets of a group's frames in the archive, for messages.
  func place(of group: Group) -> String {
    let first = frames[group.frames.lowerBound].compressed.lowerBound
    let last = frames[group.frames.upperBound - 1].compressed.upperBound
    return "bytes \(first) to \(last)"
  }
}
