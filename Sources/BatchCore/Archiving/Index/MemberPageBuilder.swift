import BatchEngine

struct MemberPageBuilder {
  private(set) var count = 0
  private var lengths: [UInt8] = []
  private var kinds: [UInt8] = []
  private var flags: [UInt8] = []
  private var sizes: [UInt8] = []
  private var seconds: [UInt8] = []
  private var nanoseconds: [UInt8] = []
  private var frames: [UInt8] = []
  private var offsets: [UInt8] = []
  private var headers: [UInt8] = []
  private var paths: [UInt8] = []

  /// The size in bytes.
  var size: Int { 4 + count * MemberPage.rowSize + paths.count }

  var isFull: Bool { count == MemberPage.length || size >= MemberPage.fullSize }

  mutating func add(_ member: ArchivedMember, frame: UInt32) {
    count += 1
    lengths.appendLittleEndian(UInt32(truncatingIfNeeded: member.path.bytes.count))
    kinds.append(member.kind.rawValue)
    flags.append(member.flags.union(member.digest == nil ? [] : .digest).rawValue)
    sizes.appendLittleEndian(member.size)
    seconds.appendLittleEndian(member.modified.seconds)
    nanoseconds.appendLittleEndian(UInt32(truncatingIfNeeded: member.modified.nanoseconds))
    frames.appendLittleEndian(frame)
    offsets.appendLittleEndian(member.offset)
    headers.appendLittleEndian(member.header?.size ?? 0)
    paths += member.path.bytes
  }

  /// The page as stored; a new page begins.
  mutating func take() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size)
    bytes.appendLittleEndian(UInt32(count))
    for column in [lengths, kinds, flags, sizes, seconds, nanoseconds, frames, offsets, headers, paths] {
      bytes += column
    }
    self = MemberPageBuilder()
    return bytes
  }
}
