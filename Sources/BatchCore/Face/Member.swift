import BatchEngine

extension Batch {
  /// A member of an archive.
  public struct Member: Sendable, Hashable {
    /// The kinds of members.
    public enum Kind: Sendable, Hashable {
      case file
      /// A further name of a file. Another member has the content of that file.
      case hardLink
      case symbolicLink, characterDevice, blockDevice, folder, fifo
    }

    /// Its name in the archive, any bytes; without a final slash.
    public let path: PathBytes
    public let kind: Kind
    /// Bytes of content, holes included; 0 for a member without content, and if only the content itself tells its size.
    public let size: UInt64
    /// The time of modification.
    public let modified: FileStatus.Time
    /// The SHA-256 of the content; nil for a member without content, and if it is unknown and not computed
    /// (``ListOptions/readsDigests``).
    public let digest: Digest?
    /// Whether the file changed while it was archived, as the index says.
    public let hasChanged: Bool
    /// Whether a part of the file could not be archived, as the index says.
    public let isIncomplete: Bool
    /// The 12 permission bits. Nil, like all following facts, if the headers were not read (``ListOptions/readsHeaders``).
    public let mode: UInt32?
    /// The number of the owner; nil if the archive has none.
    public let owner: UInt32?
    /// The number of the group; nil if the archive has none.
    public let group: UInt32?
    /// The target of a symbolic link, or the first name of a hard link.
    public let linkTarget: PathBytes?
  }
}

extension Batch.Member {
  private struct Facts: OptionSet {
    let rawValue: UInt8

    static let digest = Facts(rawValue: 1)
    static let mode = Facts(rawValue: 2)
    static let owner = Facts(rawValue: 4)
    static let group = Facts(rawValue: 8)
    static let target = Facts(rawValue: 16)
    static let changed = Facts(rawValue: 32)
    static let incomplete = Facts(rawValue: 64)
  }

  /// Appends a member as bytes; the results of a chunk are kept in this form.
  static func append(_ listed: ListedMember, to bytes: inout [UInt8]) {
    func append(_ number: some FixedWidthInteger) {
      withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }
    func append(_ path: PathBytes) {
      append(UInt64(path.bytes.count))
      bytes += path.bytes
    }
    let (member, entry) = (listed.member, listed.entry)
    let sha256 = member.digest.flatMap { $0.algorithm == .sha256 ? $0 : nil }
    let mode = entry.flatMap { $0.hasMode ? $0.mode : nil }
    let (owner, group) = (entry.map(\.owner) ?? .max, entry.map(\.group) ?? .max)
    var facts: Facts = member.flags.contains(.changed) ? .changed : []
    if member.flags.contains(.incomplete) { facts.insert(.incomplete) }
    if sha256 != nil { facts.insert(.digest) }
    if mode != nil { facts.insert(.mode) }
    if owner != .max { facts.insert(.owner) }
    if group != .max { facts.insert(.group) }
    if entry?.linkTarget != nil { facts.insert(.target) }
    append(facts.rawValue)
    append(member.kind.rawValue)
    append(member.size)
    append(member.modified.seconds)
    append(member.modified.nanoseconds)
    append(mode ?? 0)
    append(owner)
    append(group)
    append(member.path)
    append(entry?.linkTarget ?? "")
    if let sha256 { bytes += sha256.bytes }
  }

  /// - Parameter row: the bytes that ``append(_:to:)`` makes.
  init?(_ row: ArraySlice<UInt8>) {
    var reader = LittleEndianReader(row)
    func path() -> PathBytes? {
      reader.number(UInt64.self).flatMap { reader.take(Int(clamping: $0)) }.map { PathBytes($0) }
    }
    guard let facts = reader.number(UInt8.self).map({ Facts(rawValue: $0) }),
      let kind = reader.number(UInt8.self).flatMap({ ArchiveEntry.Kind(rawValue: $0) }),
      let size: UInt64 = reader.number(), let seconds: Int64 = reader.number(),
      let nanoseconds: Int32 = reader.number(), let mode: UInt32 = reader.number(),
      let owner: UInt32 = reader.number(), let group: UInt32 = reader.number(), let name = path(),
      let target = path()
    else { return nil }
    let sha256 = reader.take(DigestAlgorithm.sha256.byteCount).flatMap { Digest(.sha256, bytes: $0) }
    self.init(
      path: name, kind: Kind(kind), size: size,
      modified: FileStatus.Time(seconds: seconds, nanoseconds: nanoseconds),
      digest: facts.contains(.digest) ? sha256 : nil, hasChanged: facts.contains(.changed),
      isIncomplete: facts.contains(.incomplete), mode: facts.contains(.mode) ? mode : nil,
      owner: facts.contains(.owner) ? owner : nil, group: facts.contains(.group) ? group : nil,
      linkTarget: facts.contains(.target) ? target : nil)
  }
}

extension Batch.Member {
  /// A member that was written.
  init(_ member: ArchivedMember) {
    self.init(
      path: member.path, kind: Kind(member.kind), size: member.size, modified: member.modified,
      digest: member.digest.flatMap { $0.algorithm == .sha256 ? $0 : nil },
      hasChanged: member.flags.contains(.changed), isIncomplete: member.flags.contains(.incomplete),
      mode: nil, owner: nil, group: nil, linkTarget: nil)
  }
}

extension Batch.Member.Kind {
  init(_ kind: ArchiveEntry.Kind) {
    switch kind {
    case .file: self = .file
    case .hardLink: self = .hardLink
    case .symbolicLink: self = .symbolicLink
    case .characterDevice: self = .characterDevice
    case .blockDevice: self = .blockDevice
    case .directory: self = .folder
    case .fifo: self = .fifo
    }
  }
}
