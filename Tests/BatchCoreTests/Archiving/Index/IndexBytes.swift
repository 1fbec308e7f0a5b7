@testable import BatchCore
@testable import BatchEngine

/// A member index as bytes, which a test can make invalid.
struct IndexBytes {
  var version = 4
  struct Member {
    var path = PathBytes("f")
    var kind = UInt8(ascii: "0")
    var size: UInt64 = 3
    var nanoseconds: UInt32 = 7
    var frame: UInt32 = 0
    var offset: UInt64 = 0
    var digest: [UInt8]? = [UInt8](repeating: 9, count: 32)
    var flags: UInt8 = 0
  }

  var members = [Member(), Member(path: "g", frame: 0, offset: 1024), Member(path: "h", frame: 1, offset: 0)]
  /// Compressed offset, compressed size, plain offset and plain size of each frame; the check of a frame is
  /// its number.
  var frames: [[UInt64]] = [[0, 100, 0, 2048], [100, 50, 2048, 1024]]
  var memberCount: UInt64?
  var frameCount: UInt64?
  /// The number of members in a page.
  var pageLength = 8192
  /// Replaces what the head says of each page: stored and plain size, number of members, number of digests.
  var pageRows: [(UInt64, UInt64, UInt32, UInt32)]?

  /// - Parameter pages: the stored and the plain size of each page.
  func head(_ pages: [(stored: Int, plain: Int)]) -> [UInt8] {
    var bytes = version == 3 ? Array("BPIDX003".utf8) : MemberIndex.magic
    bytes.appendLittleEndian(memberCount ?? UInt64(members.count))
    bytes.appendLittleEndian(members.reduce(UInt64(0)) { $0 &+ $1.size })
    bytes.appendLittleEndian(frameCount ?? UInt64(frames.count))
    if version > 3 { bytes.appendLittleEndian(UInt64(pageRows?.count ?? pages.count)) }
    for (number, frame) in frames.enumerated() {
      for number in frame { bytes.appendLittleEndian(number) }
      bytes.appendLittleEndian(UInt32(number))
    }
    let rows =
      pageRows
      ?? zip(pages, parts).map { page, part in
        (UInt64(page.stored), UInt64(page.plain), UInt32(part.count), UInt32(part.count { $0.digest != nil }))
      }
    for row in version > 3 ? rows : [] {
      bytes.appendLittleEndian(row.0)
      bytes.appendLittleEndian(row.1)
      bytes.appendLittleEndian(row.2)
      bytes.appendLittleEndian(row.3)
    }
    return bytes + Self.digest(of: checks)
  }

  /// The correct rows of the head for the pages.
  var ownRows: [(UInt64, UInt64, UInt32, UInt32)] {
    let codec = try? ZstdContext(level: 1)
    return zip(pages, parts).map { page, part in
      let stored = (try? codec?.compressed(page))?.count ?? 0
      return (UInt64(stored), UInt64(page.count), UInt32(part.count), UInt32(part.count { $0.digest != nil }))
    }
  }

  private var parts: [ArraySlice<Member>] {
    stride(from: 0, to: members.count, by: pageLength).map {
      members[$0..<min($0 + pageLength, members.count)]
    }
  }

  var pages: [[UInt8]] { parts.map { Self.page($0) } }

  private static func page(_ members: ArraySlice<Member>) -> [UInt8] {
    var bytes = [UInt8]()
    bytes.appendLittleEndian(UInt32(members.count))
    for member in members { bytes.appendLittleEndian(UInt32(member.path.bytes.count)) }
    bytes += members.map(\.kind)
    bytes += members.map { ($0.digest == nil ? 0 : 1) | $0.flags }
    for member in members { bytes.appendLittleEndian(member.size) }
    for _ in members { bytes.appendLittleEndian(Int64(-5)) }
    for member in members { bytes.appendLittleEndian(member.nanoseconds) }
    for member in members { bytes.appendLittleEndian(member.frame) }
    for member in members { bytes.appendLittleEndian(member.offset) }
    for _ in members { bytes.appendLittleEndian(UInt32(512)) }
    return bytes + members.flatMap(\.path.bytes)
  }

  /// The whole index as an archive stores it.
  ///
  /// - Parameter changing: changes the pages and the head before they are stored.
  func stored(changing change: (inout [[UInt8]]) -> Void = { _ in }) throws(BatchError) -> [UInt8] {
    let codec = try ZstdContext(level: 1)
    var parts = pages
    var compressed = [[UInt8]]()
    for page in parts { compressed.append(try codec.compressed(page)) }
    parts.append(head(zip(compressed, parts).map { ($0.count, $1.count) }))
    let whole = parts
    change(&parts)
    var bytes = [UInt8]()
    for (number, part) in parts.dropLast().enumerated() {
      bytes += part == whole[number] ? compressed[number] : try codec.compressed(part)
    }
    let length = bytes.count
    bytes += try codec.compressed(parts.last ?? [])
    var lengths = [UInt8]()
    lengths.appendLittleEndian(UInt64(length))
    lengths.appendLittleEndian(UInt64(bytes.count - length))
    return bytes + checks + lengths + Self.digest(of: bytes + lengths)
  }

  /// Reads the index.
  ///
  /// - Parameters:
  ///   - size: the size of the archive.
  ///   - memory: how much memory the index may take.
  func index(size: UInt64, checks: Bool = false, memory: Int = 1 << 30) throws(BatchError) -> MemberIndex {
    try StoredIndex.read(IndexExtent(try stored()), checks: checks, size: size, memory: memory)
  }

  /// The CRC-32 of each header: 77 and the header's number.
  var checks: [UInt8] {
    members.indices.flatMap { [UInt8(77 + $0), 0, 0, 0] } + members.flatMap { $0.digest ?? [] }
  }

  private static func digest(of bytes: [UInt8]) -> [UInt8] {
    (try? DigestStream(.sha256).digest(of: bytes))?.bytes ?? []
  }
}

extension MemberIndex {
  /// Any member, for which its page is decoded.
  subscript(number: Int) -> ArchivedMember {
    get throws {
      var cursor = IndexCursor(self)
      return try cursor.slice(number..<(number + 1))[number]
    }
  }
}

extension DigestStream {
  fileprivate func digest(of bytes: [UInt8]) throws(BatchError) -> Digest {
    try withBytes(of: bytes) { (raw) throws(BatchError) in try digest(of: raw) }
  }
}
