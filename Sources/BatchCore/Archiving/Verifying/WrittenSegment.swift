import BatchEngine
import Glibc

/// Compares a group of frames that was just written with the index that was made of the same members in memory: every
/// byte of it belongs to headers whose CRC-32 is known, to a content whose SHA-256 is known, or has to be zero.
///
/// No header is parsed. What has the recorded check is what was written, and what it means was decided before.
struct WrittenSegment {
  /// Why a member is not as it was written.
  static let headers = "its headers are others"
  static let content = "its SHA-256 is another"

  private let group: MemberIndex.Group
  private var members: ArraySlice<MemberIndex.Member>
  private let archive: IndexedArchive
  private let tools: SegmentTools
  /// In the content of the group.
  private var position: UInt64 = 0
  /// The member whose content is not over.
  private var current: MemberIndex.Member?
  private var contentLeft: UInt64 = 0
  private var paddingLeft: UInt64 = 0
  /// Zeros behind the last member.
  private var endSize: UInt64 = 0
  private var damage: String?

  /// - Returns: nil for a group with members whose content does not stand there as it is in the file, which are sparse.
  init?(_ group: MemberIndex.Group, _ members: IndexSlice, of archive: IndexedArchive, _ tools: SegmentTools)
  {
    self.group = group
    self.members = group.members.map { members[$0] }[...]
    self.archive = archive
    self.tools = tools
    let frames = archive.index.frames[group.frames]
    guard let first = frames.first, let last = frames.last else { return nil }
    let isLast = group.frames.upperBound == archive.index.frames.count
    for index in self.members.indices {
      let member = self.members[index]
      let start = archive.index.start(of: member, in: group)
      let isFollowed = index + 1 < self.members.endIndex
      let end =
        isFollowed
        ? archive.index.start(of: self.members[index + 1], in: group)
        : last.plain.upperBound - first.plain.lowerBound
      guard let size = Self.size(of: member), start <= end,
        isFollowed || !isLast ? size == end - start : size <= end - start
      else { return nil }
    }
  }

  /// Of headers, content and what fills its last block; nil for numbers that no member of ours has.
  private static func size(of member: MemberIndex.Member) -> UInt64? {
    guard let header = member.header, member.kind != .file || member.digest != nil else { return nil }
    let content = member.kind == .file ? member.size : 0
    let (end, isHuge) = content.addingReportingOverflow(UInt64(header.size) + padding(behind: content))
    return isHuge ? nil : end
  }

  private static func padding(behind content: UInt64) -> UInt64 {
    let block = UInt64(TarHeaders.blockSize)
    return (block - content % block) % block
  }

  /// Reads all of the group.
  ///
  /// - Parameter visit: gets each member with what is wrong with it; nil where nothing is.
  /// - Throws: `malformed` when a frame is damaged, or has bytes that belong to no member; what `visit` throws.
  mutating func read(
    visit: (MemberIndex.Member, String?) throws(BatchError) -> Void
  ) throws(BatchError) {
    for number in group.frames {
      try archive.file.cancellation.check()
      try take(try load(archive.index.frames[number]), visit)
    }
    let isLast = group.frames.upperBound == archive.index.frames.count
    guard current == nil, paddingLeft == 0, members.isEmpty,
      !isLast || endSize >= 2 * UInt64(TarHeaders.blockSize)
    else { throw BatchError(.malformed, "the archive ends before its members do") }
  }

  private func load(_ frame: MemberIndex.Frame) throws(BatchError) -> UnsafeRawBufferPointer {
    do throws(BatchError) {
      return try tools.loader.load(frame)
    } catch {
      // A part of the disk that cannot be read is damage like any other.
      guard error.code == .unreadable, error.errno == EIO else { throw error }
      throw BatchError(.malformed, "\(error.message): \(error.systemMessage ?? "")", path: archive.file.path)
    }
  }

  private mutating func take(
    _ bytes: UnsafeRawBufferPointer, _ visit: (MemberIndex.Member, String?) throws(BatchError) -> Void
  ) throws(BatchError) {
    var rest = bytes
    while !rest.isEmpty {
      let count: Int
      if let member = current {
        count = Int(min(contentLeft, UInt64(rest.count)))
        try tools.digests.update(UnsafeRawBufferPointer(rebasing: rest[..<count]))
        contentLeft -= UInt64(count)
        if contentLeft == 0 { try finish(member, visit) }
      } else if paddingLeft > 0 {
        count = Int(min(paddingLeft, UInt64(rest.count)))
        try requireZeros(UnsafeRawBufferPointer(rebasing: rest[..<count]))
        paddingLeft -= UInt64(count)
      } else if let member = members.popFirst() {
        count = try begin(member, rest, visit)
      } else {
        count = rest.count
        try requireZeros(rest)
        endSize += UInt64(count)
      }
      position += UInt64(count)
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// - Returns: the size of its headers.
  private mutating func begin(
    _ member: MemberIndex.Member, _ bytes: UnsafeRawBufferPointer,
    _ visit: (MemberIndex.Member, String?) throws(BatchError) -> Void
  ) throws(BatchError) -> Int {
    // Headers lie in one frame, that of their member.
    guard archive.index.start(of: member, in: group) == position, let header = member.header,
      let size = Int(exactly: header.size), size <= bytes.count
    else { throw BatchError(.malformed, "the archive is not what its index says") }
    damage = header.holds(for: bytes) ? nil : Self.headers
    contentLeft = member.kind == .file ? member.size : 0
    paddingLeft = Self.padding(behind: contentLeft)
    tools.digests.reset()
    if contentLeft > 0 { current = member } else { try finish(member, visit) }
    return size
  }

  private mutating func finish(
    _ member: MemberIndex.Member, _ visit: (MemberIndex.Member, String?) throws(BatchError) -> Void
  ) throws(BatchError) {
    current = nil
    if member.kind == .file, try tools.digests.finish() != member.digest { damage = damage ?? Self.content }
    try visit(member, damage)
  }

  private func requireZeros(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    guard bytes.allSatisfy({ $0 == 0 }) else {
      throw BatchError(.malformed, "bytes that belong to no member")
    }
  }
}
