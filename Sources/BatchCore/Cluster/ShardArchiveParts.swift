import BatchEngine

/// Writes a shard's part of an archive into its result.
package struct ShardArchiveParts: ArchiveParts {
  private let result: ShardResultWriter
  private let devices: PlannedDevices

  package init(_ result: ShardResultWriter, _ devices: PlannedDevices) {
    self.result = result
    self.devices = devices
  }

  package func add(
    _ frame: ArchiveFrame, number: UInt32, _ members: [ArchivedMember]
  ) throws(BatchError) {
    var head: [UInt8] = []
    head.appendLittleEndian(frame.plainSize)
    head.appendLittleEndian(frame.check)
    try result.write(.frame, head + frame.bytes)
    if !members.isEmpty {
      try result.write(.members, ShardMembers.bytes(of: members, frame: number, devices.planned))
    }
  }

  package func add(_ member: ArchivedMember, frame: UInt32) throws(BatchError) {
    try result.write(.members, ShardMembers.bytes(of: [member], frame: frame, devices.planned))
  }

  package func add(missing file: FileIdentity) throws(BatchError) {
    let planned = devices.planned(file)
    var bytes: [UInt8] = []
    bytes.appendLittleEndian(planned.device)
    bytes.appendLittleEndian(planned.inode)
    try result.write(.lost, bytes)
  }
}

/// The members of a frame in a result.
enum ShardMembers {
  private static let hasDigest: UInt8 = 1
  private static let hasIdentity: UInt8 = 2

  static func bytes(
    of members: [ArchivedMember], frame: UInt32, _ planned: (FileIdentity) -> FileIdentity
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendLittleEndian(frame)
    bytes.appendLittleEndian(UInt32(clamping: members.count))
    for member in members {
      let identity = member.identity.map(planned)
      bytes.append(member.kind.rawValue)
      bytes.append(member.flags.rawValue)
      bytes.append((member.digest == nil ? 0 : hasDigest) | (identity == nil ? 0 : hasIdentity))
      bytes.appendLittleEndian(member.size)
      bytes.appendLittleEndian(member.modified.seconds)
      bytes.appendLittleEndian(member.modified.nanoseconds)
      bytes.appendLittleEndian(member.offset)
      bytes.appendLittleEndian(member.header?.size ?? 0)
      bytes.appendLittleEndian(member.header?.check ?? 0)
      bytes.appendLittleEndian(identity?.device ?? 0)
      bytes.appendLittleEndian(identity?.inode ?? 0)
      bytes.appendLittleEndian(UInt32(clamping: member.path.bytes.count))
      bytes += member.path.bytes
      bytes += member.digest?.bytes ?? []
    }
    return bytes
  }

  /// - Throws: `malformed` for bytes that ``bytes(of:frame:_:)`` cannot have written.
  static func read(_ bytes: [UInt8]) throws(BatchError) -> (
    frame: UInt32, members: [ArchivedMember]
  ) {
    var reader = LittleEndianReader(bytes[...])
    guard let frame = reader.number(UInt32.self), let count = reader.number(UInt32.self),
      UInt64(count) <= UInt64(bytes.count)
    else { throw invalid }
    var members: [ArchivedMember] = []
    members.reserveCapacity(Int(count))
    for _ in 0..<count {
      guard let member = member(&reader) else { throw invalid }
      members.append(member)
    }
    guard reader.rest == 0, !members.isEmpty else { throw invalid }
    return (frame, members)
  }

  private static func member(_ reader: inout LittleEndianReader) -> ArchivedMember? {
    guard let kind = reader.number(UInt8.self).flatMap({ ArchiveEntry.Kind(rawValue: $0) }),
      let flags = reader.number(UInt8.self).map({ MemberFlags(rawValue: $0) }),
      flags.isSubset(of: .all),
      let has = reader.number(UInt8.self), let size = reader.number(UInt64.self),
      let seconds = reader.number(Int64.self), let nanoseconds = reader.number(Int32.self),
      (0..<1_000_000_000).contains(nanoseconds), let offset = reader.number(UInt64.self),
      let headerSize = reader.number(UInt32.self), let headerCheck = reader.number(UInt32.self),
      let device = reader.number(UInt64.self), let inode = reader.number(UInt64.self),
      let length = reader.number(UInt32.self), let path = reader.take(Int(length)),
      !path.contains(0)
    else { return nil }
    var digest: Digest?
    if has & hasDigest != 0 {
      guard let bytes = reader.take(DigestAlgorithm.sha256.byteCount) else { return nil }
      digest = Digest(.sha256, bytes: bytes)
    }
    return ArchivedMember(
      path: PathBytes(path), kind: kind, size: size,
      modified: FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds), digest: digest,
      flags: flags,
      offset: offset, header: HeaderChecksum(size: headerSize, check: headerCheck),
      identity: has & hasIdentity != 0 ? FileIdentity(device: device, inode: inode) : nil)
  }

  private static var invalid: BatchError {
    BatchError(.malformed, "has members that are not valid")
  }
}
