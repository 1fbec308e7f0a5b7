import BatchEngine

/// The index at the end of our archives: where each member is, and the digest of its content.
///
/// It is used only when its own digest is right, and even then every number in it is checked to fit the file.
struct MemberIndex: Sendable {
  /// A range of the file that can be decoded by itself.
  struct Frame: Sendable, Hashable {
    let compressed: Range<UInt64>
    /// Where its content lies in the whole archive.
    let plain: Range<UInt64>
    /// The CRC-32 of what stands in the file.
    let check: UInt32

    var plainSize: UInt64 { plain.upperBound - plain.lowerBound }
    var compressedSize: UInt64 { compressed.upperBound - compressed.lowerBound }
  }

  struct Member: Sendable {
    let path: PathBytes
    let kind: ArchiveEntry.Kind
    let size: UInt64
    let modified: FileStatus.Time
    let flags: MemberFlags
    /// The number of the frame in which it begins.
    let frame: Int
    /// Where its first header begins in the content of that frame.
    let offset: UInt64
    /// Nil where the checks were not asked for.
    let header: HeaderChecksum?
    /// Nil for what has none, and where the checks were not asked for.
    let digest: Digest?

    /// Whether the archive itself says the same.
    func agrees(with entry: ArchiveEntry) -> Bool {
      path == entry.path && kind == entry.kind && modified == entry.modified && size == entry.size
    }
  }

  /// Frames that together hold whole members.
  struct Group: Sendable {
    let frames: Range<Int>
    let members: Range<Int>
  }

  static let magic = Array("BPIDX004".utf8)
  static let magicOfVersion3 = Array("BPIDX003".utf8)
  /// Of the numbers behind all that is stored of an index, and its digest.
  static let trailerSize = 48

  /// Bytes of all files together, as the index says.
  let totalBytes: UInt64
  /// The same, as its members have them.
  let memberBytes: UInt64
  let frames: [Frame]
  let groups: [Group]
  /// Of the whole index, as it stands at its end; it holds for the digests of the members too.
  let digest: Digest
  let count: Int
  let pages: IndexPages
  /// Of all members the CRC-32 of their headers, then the digests; nil where they were not asked for.
  let checks: IndexPart?

  /// Where the members of a group lie in its content: from each one's first header to the next one's.
  ///
  /// - Parameter members: those of the group.
  func place(of number: Int, in group: Group, _ members: IndexSlice) -> Range<UInt64> {
    let base = frames[group.frames.lowerBound].plain.lowerBound
    func start(_ number: Int) -> UInt64 {
      let start = members.start(of: number)
      return frames[start.frame].plain.lowerBound - base + start.offset
    }
    let end = frames[group.frames.upperBound - 1].plain.upperBound - base
    return start(number)..<(number + 1 < group.members.upperBound ? start(number + 1) : end)
  }

  /// Where the headers of a member begin in the content of its group.
  func start(of member: Member, in group: Group) -> UInt64 {
    let base = frames[group.frames.lowerBound].plain.lowerBound
    return frames[member.frame].plain.lowerBound - base + member.offset
  }

  /// What a group weighs for the planner; an index may claim more than can be added up.
  func weight(of group: Group) -> Int64 {
    guard let first = group.frames.first, let last = group.frames.last else { return 0 }
    return Int64(min(frames[last].plain.upperBound - frames[first].plain.lowerBound, 1 << 40))
  }
}

extension ArchiveEntry.Kind {
  /// The kind that a letter in a tar header stands for.
  init?(typeflag: UInt8) {
    switch typeflag {
    case UInt8(ascii: "0"): self = .file
    case UInt8(ascii: "1"): self = .hardLink
    case UInt8(ascii: "2"): self = .symbolicLink
    case UInt8(ascii: "3"): self = .characterDevice
    case UInt8(ascii: "4"): self = .blockDevice
    case UInt8(ascii: "5"): self = .directory
    case UInt8(ascii: "6"): self = .fifo
    default: return nil
    }
  }
}

extension MemberIndex {
  /// All members and the bytes of their contents, as what a run has to do.
  var total: (members: Int, bytes: UInt64) { (count, totalBytes) }

  /// Where the frames of a group stand in the archive, for messages.
  func place(of group: Group) -> String {
    let first = frames[group.frames.lowerBound].compressed.lowerBound
    let last = frames[group.frames.upperBound - 1].compressed.upperBound
    return "bytes \(first) to \(last)"
  }
}
