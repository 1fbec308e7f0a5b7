import BatchEngine
import func Glibc.memchr

/// Some members of an index, as stored: column by column, with their paths last.
///
/// | bytes | |
/// |---|---|
/// | u32 | how many members, 1 to ``length`` |
/// | u32 each | length of the path |
/// | u8 each | type flag of tar |
/// | u8 each | ``MemberFlags`` |
/// | u64 each | size |
/// | i64, u32 each | time: seconds, then the nanoseconds of all |
/// | u32 each | frame |
/// | u64 each | offset of its headers in the frame's plain content |
/// | u32 each | length of its headers |
/// | | the paths, one after the other |
///
/// Numbers are little-endian. Columns compress to two thirds of the size of rows, in half the time, and a member can be found
/// without a search.
struct MemberPage: Sendable {
  /// The most members of a page.
  static let length = 8192
  /// A page that reaches this many bytes gets no further member, so that a reader needs little memory.
  static let fullSize = 4 << 20
  /// The bytes of each member without its path.
  static let rowSize = 42
  private static let headSize = 4

  let count: Int
  let digestCount: Int
  private let bytes: [UInt8]
  /// The start of each path in the bytes, and the end of the last one.
  private let pathStarts: [UInt32]

  /// The fields of a member, without its path.
  struct Row {
    let kind: ArchiveEntry.Kind
    let flags: MemberFlags
    let size: UInt64
    let modified: FileStatus.Time
    let frame: Int
    let offset: UInt64
    let headerSize: UInt32
  }

  /// - Parameter flags: the flags that may occur.
  /// - Returns: nil for invalid bytes.
  init?(_ bytes: [UInt8], flags: MemberFlags = .all) {
    var reader = LittleEndianReader(bytes[...])
    guard let number = reader.number(UInt32.self), (1...Self.length).contains(Int(number)),
      bytes.count >= Self.headSize + Int(number) * Self.rowSize, bytes.count <= Int(UInt32.max)
    else { return nil }
    let count = Int(number)
    var starts = [UInt32]()
    starts.reserveCapacity(count + 1)
    var digestCount = 0
    let isSound = bytes.withUnsafeBytes { raw in
      var end = Self.headSize + count * Self.rowSize
      let firstPath = end
      for index in 0..<count {
        starts.append(UInt32(truncatingIfNeeded: end))
        // Cannot overflow: there are few numbers, each of 32 bits.
        end += Int(raw.little(at: Self.headSize + index * 4) as UInt32)
        let nanoseconds = raw.little(at: Self.place(of: 22, count) + index * 4) as UInt32
        let found = MemberFlags(rawValue: raw[Self.place(of: 5, count) + index])
        if found.contains(.digest) { digestCount += 1 }
        guard nanoseconds < 1_000_000_000, found.isSubset(of: flags),
          ArchiveEntry.Kind(rawValue: raw[Self.place(of: 4, count) + index]) != nil
        else { return false }
      }
      starts.append(UInt32(truncatingIfNeeded: end))
      guard end == raw.count, let base = raw.baseAddress else { return false }
      return memchr(base + firstPath, 0, end - firstPath) == nil
    }
    guard isSound else { return nil }
    self.count = count
    self.digestCount = digestCount
    self.bytes = bytes
    pathStarts = starts
  }

  /// The memory of the page, in bytes.
  var memory: Int { bytes.count + pathStarts.count * MemoryLayout<UInt32>.size }

  /// The CRC-32 of the whole page.
  var check: UInt32 { bytes.withUnsafeBytes { ArchiveFrame.check(of: $0) } }

  func digestCount(before index: Int) -> Int {
    let start = Self.place(of: 5, count)
    return bytes[start..<(start + index)].count { $0 & MemberFlags.digest.rawValue != 0 }
  }

  func flags(_ index: Int) -> MemberFlags {
    MemberFlags(rawValue: bytes[Self.place(of: 5, count) + index])
  }

  func path(_ index: Int) -> PathBytes {
    PathBytes(bytes[Int(pathStarts[index])..<Int(pathStarts[index + 1])])
  }

  func row(_ index: Int) -> Row {
    bytes.withUnsafeBytes { raw in
      guard let kind = ArchiveEntry.Kind(rawValue: raw[Self.place(of: 4, count) + index]) else {
        preconditionFailure("was looked at before")
      }
      return Row(
        kind: kind, flags: MemberFlags(rawValue: raw[Self.place(of: 5, count) + index]),
        size: raw.little(at: Self.place(of: 6, count) + index * 8),
        modified: FileStatus.Time(
          seconds: raw.little(at: Self.place(of: 14, count) + index * 8),
          nanoseconds: raw.little(at: Self.place(of: 22, count) + index * 4)),
        frame: Int(raw.little(at: Self.place(of: 26, count) + index * 4) as UInt32),
        offset: raw.little(at: Self.place(of: 30, count) + index * 8),
        headerSize: raw.little(at: Self.place(of: 38, count) + index * 4))
    }
  }

  /// The offset of a column that is preceded by this many bytes for each member.
  private static func place(of before: Int, _ count: Int) -> Int { headSize + before * count }
}
