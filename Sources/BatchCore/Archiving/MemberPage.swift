import Glibc

/// Some members of an index, as they are stored: each number of all of them side by side, their paths last.
///
/// | bytes | |
/// |---|---|
/// | u32 | how many members: ``length``, fewer only in the last page |
/// | u32 each | length of the path |
/// | u8 each | type flag of tar |
/// | u8 each | 1 or 0: whether it has a digest |
/// | u64 each | size |
/// | i64, u32 each | time: seconds, then the nanoseconds of all |
/// | u32 each | frame |
/// | u64 each | offset of its headers in the frame's plain content |
/// | u32 each | length of its headers |
/// | | the paths, one behind the other |
///
/// Numbers are little-endian. Numbers of one kind compress to two thirds of what rows of them do, in half the time,
/// and need no looking for where a member begins.
struct MemberPage: Sendable {
  /// Members of every page but the last.
  static let length = 8192
  /// What each member takes besides its path, in bytes.
  static let rowSize = 42
  private static let headSize = 4

  let count: Int
  private let bytes: [UInt8]
  /// Where each path begins in the bytes, and where the last one ends.
  private let pathStarts: [UInt32]

  /// What is known of a member besides its path.
  struct Row {
    let kind: ArchiveEntry.Kind
    let hasDigest: Bool
    let size: UInt64
    let modified: FileStatus.Time
    let frame: Int
    let offset: UInt64
    let headerSize: UInt32
  }

  /// - Returns: nil for bytes that no page has.
  init?(_ bytes: [UInt8]) {
    var reader = LittleEndianReader(bytes[...])
    guard let number = reader.number(UInt32.self), (1...Self.length).contains(Int(number)),
      bytes.count >= Self.headSize + Int(number) * Self.rowSize, bytes.count <= Int(UInt32.max)
    else { return nil }
    let count = Int(number)
    var starts = [UInt32]()
    starts.reserveCapacity(count + 1)
    let isSound = bytes.withUnsafeBytes { raw in
      var end = Self.headSize + count * Self.rowSize
      let firstPath = end
      for index in 0..<count {
        starts.append(UInt32(truncatingIfNeeded: end))
        // Neither overflows: there are few of them, of 32 bits.
        end += Int(raw.number(at: Self.headSize + index * 4, as: UInt32.self))
        let nanoseconds = raw.number(at: Self.place(of: 22, count) + index * 4, as: UInt32.self)
        guard nanoseconds < 1_000_000_000, raw[Self.place(of: 5, count) + index] <= 1,
          ArchiveEntry.Kind(typeflag: raw[Self.place(of: 4, count) + index]) != nil
        else { return false }
      }
      starts.append(UInt32(truncatingIfNeeded: end))
      guard end == raw.count, let base = raw.baseAddress else { return false }
      return memchr(base + firstPath, 0, end - firstPath) == nil
    }
    guard isSound else { return nil }
    self.count = count
    self.bytes = bytes
    pathStarts = starts
  }

  func path(_ index: Int) -> PathBytes {
    PathBytes(bytes[Int(pathStarts[index])..<Int(pathStarts[index + 1])])
  }

  func row(_ index: Int) -> Row {
    bytes.withUnsafeBytes { raw in
      guard let kind = ArchiveEntry.Kind(typeflag: raw[Self.place(of: 4, count) + index]) else {
        preconditionFailure("was looked at before")
      }
      return Row(
        kind: kind, hasDigest: raw[Self.place(of: 5, count) + index] == 1,
        size: raw.number(at: Self.place(of: 6, count) + index * 8),
        modified: FileStatus.Time(
          seconds: raw.number(at: Self.place(of: 14, count) + index * 8),
          nanoseconds: raw.number(at: Self.place(of: 22, count) + index * 4)),
        frame: Int(raw.number(at: Self.place(of: 26, count) + index * 4, as: UInt32.self)),
        offset: raw.number(at: Self.place(of: 30, count) + index * 8),
        headerSize: raw.number(at: Self.place(of: 38, count) + index * 4))
    }
  }

  /// Where numbers begin that so many bytes of each member stand before.
  private static func place(of before: Int, _ count: Int) -> Int { headSize + before * count }
}

extension UnsafeRawBufferPointer {
  fileprivate func number<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type = Number.self)
    -> Number
  {
    Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
  }
}
