@testable import BatchCore

/// A member index of one page as bytes, right or wrong on purpose.
struct IndexBytes {
  struct Member {
    var path = PathBytes("f")
    var kind = UInt8(ascii: "0")
    var size: UInt64 = 3
    var nanoseconds: UInt32 = 7
    var frame: UInt32 = 0
    var offset: UInt64 = 0
    var digest: [UInt8]? = [UInt8](repeating: 9, count: 32)
  }

  var members = [Member(), Member(path: "g", frame: 0, offset: 1024), Member(path: "h", frame: 1, offset: 0)]
  /// Compressed offset and size, plain offset and size; the check of each is its number.
  var frames: [[UInt64]] = [[0, 100, 0, 2048], [100, 50, 2048, 1024]]
  var memberCount: UInt64?
  var frameCount: UInt64?

  var head: [UInt8] {
    var bytes = MemberIndex.magic
    bytes.append(littleEndian: memberCount ?? UInt64(members.count))
    bytes.append(littleEndian: members.reduce(UInt64(0)) { $0 &+ $1.size })
    bytes.append(littleEndian: frameCount ?? UInt64(frames.count))
    for (number, frame) in frames.enumerated() {
      for number in frame { bytes.append(littleEndian: number) }
      bytes.append(littleEndian: UInt32(number))
    }
    return bytes + Self.digest(of: checks)
  }

  /// Nothing where there are no members.
  var pages: [[UInt8]] {
    guard !members.isEmpty else { return [] }
    var bytes = [UInt8]()
    bytes.append(littleEndian: UInt32(members.count))
    for member in members { bytes.append(littleEndian: UInt32(member.path.bytes.count)) }
    bytes += members.map(\.kind)
    bytes += members.map { $0.digest == nil ? 0 : 1 }
    for member in members { bytes.append(littleEndian: member.size) }
    for _ in members { bytes.append(littleEndian: Int64(-5)) }
    for member in members { bytes.append(littleEndian: member.nanoseconds) }
    for member in members { bytes.append(littleEndian: member.frame) }
    for member in members { bytes.append(littleEndian: member.offset) }
    for _ in members { bytes.append(littleEndian: UInt32(512)) }
    return [bytes + members.flatMap(\.path.bytes)]
  }

  /// All of it as it stands in an archive.
  func stored() throws(BatchError) -> [UInt8] {
    let codec = try ZstdContext(level: 1)
    var bytes = [UInt8]()
    for page in pages { bytes += try codec.compressed(page) }
    let length = bytes.count
    bytes += try codec.compressed(head)
    var lengths = [UInt8]()
    lengths.append(littleEndian: UInt64(length))
    lengths.append(littleEndian: UInt64(bytes.count - length))
    return bytes + checks + lengths + Self.digest(of: bytes + lengths)
  }

  /// The index itself.
  ///
  /// - Parameter size: of the archive.
  func index(size: UInt64) throws(BatchError) -> MemberIndex {
    try Self.index(head: head, pages: pages, size: size)
  }

  static func index(head: [UInt8], pages: [[UInt8]], size: UInt64) throws(BatchError) -> MemberIndex {
    var read = [MemberPage]()
    for page in pages {
      guard let page = MemberPage(page) else { throw BatchError(.malformed, "no page") }
      read.append(page)
    }
    return try MemberIndex(
      head: head, pages: read, digest: try DigestStream(.sha256).digest(of: head), size: size)
  }

  /// The CRC-32 of each header is 77 and its number.
  var checks: [UInt8] {
    members.indices.flatMap { [UInt8(77 + $0), 0, 0, 0] } + members.flatMap { $0.digest ?? [] }
  }

  private static func digest(of bytes: [UInt8]) -> [UInt8] {
    (try? DigestStream(.sha256).digest(of: bytes))?.bytes ?? []
  }
}

extension DigestStream {
  fileprivate func digest(of bytes: [UInt8]) throws(BatchError) -> Digest {
    try withBytes(of: bytes) { (raw) throws(BatchError) in try digest(of: raw) }
  }
}
