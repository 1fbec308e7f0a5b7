@testable import BatchCore

/// A member index as bytes, right or wrong on purpose.
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

  var bytes: [UInt8] {
    var bytes = MemberIndex.magic
    bytes.append(littleEndian: memberCount ?? UInt64(members.count))
    bytes.append(littleEndian: members.reduce(UInt64(0)) { $0 &+ $1.size })
    bytes.append(littleEndian: frameCount ?? UInt64(frames.count))
    for (number, frame) in frames.enumerated() {
      for number in frame { bytes.append(littleEndian: number) }
      bytes.append(littleEndian: UInt32(number))
    }
    for member in members {
      bytes.append(littleEndian: UInt32(member.path.bytes.count))
      bytes += member.path.bytes + [member.kind]
      bytes.append(littleEndian: member.size)
      bytes.append(littleEndian: Int64(-5))
      bytes.append(littleEndian: member.nanoseconds)
      bytes.append(littleEndian: member.frame)
      bytes.append(littleEndian: member.offset)
      bytes.append(littleEndian: UInt32(512))
      bytes.append(member.digest == nil ? 0 : 1)
    }
    return Self.signed(Self.signed(bytes, of: checks))
  }

  /// The CRC-32 of each header is 77 and its number.
  var checks: [UInt8] {
    members.indices.flatMap { [UInt8(77 + $0), 0, 0, 0] } + members.flatMap { $0.digest ?? [] }
  }

  /// The bytes with the digest of these or others behind them.
  static func signed(_ bytes: [UInt8], of signed: [UInt8]? = nil) -> [UInt8] {
    let digest = try? DigestStream(.sha256).digest(of: signed ?? bytes)
    return bytes + (digest?.bytes ?? [])
  }
}

extension DigestStream {
  fileprivate func digest(of bytes: [UInt8]) throws(BatchError) -> Digest {
    try withBytes(of: bytes) { (raw) throws(BatchError) in try digest(of: raw) }
  }
}
