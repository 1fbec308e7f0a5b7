import BatchEngine

/// A member that was written: what the index and the report have to say of it.
package struct ArchivedMember: Sendable, Hashable {
  /// Its name in the archive.
  package let path: PathBytes
  package let kind: ArchiveEntry.Kind
  /// Bytes of content, holes included.
  package let size: UInt64
  package let modified: FileStatus.Time
  /// Of the whole content; nil for what has none, and where it was not computed.
  package var digest: Digest?
  package var flags: MemberFlags = []
  /// Of a file with content: ``ReadOutcome/isSettled``.
  var isSettled = false
  /// Where its first header begins in the plain bytes of its frame.
  private(set) var offset: UInt64
  let header: HeaderChecksum
  /// The file that a hard link was made to, or of which this is the first name.
  let identity: FileIdentity?
  /// Of links.
  let linkTarget: PathBytes?

  init(
    _ entry: ArchiveEntry, offset: Int = 0, header: HeaderChecksum = .empty, digest: Digest? = nil,
    identity: FileIdentity? = nil
  ) {
    path = entry.path
    kind = entry.kind
    size = entry.size
    modified = entry.modified
    self.digest = digest
    self.offset = UInt64(offset)
    self.header = header
    self.identity = identity
    linkTarget = entry.linkTarget
  }

  /// A member that was written down.
  init(
    path: PathBytes, kind: ArchiveEntry.Kind, size: UInt64, modified: FileStatus.Time, digest: Digest?,
    flags: MemberFlags, offset: UInt64, header: HeaderChecksum, identity: FileIdentity?
  ) {
    self.path = path
    self.kind = kind
    self.size = size
    self.modified = modified
    self.digest = digest
    self.flags = flags
    self.offset = offset
    self.header = header
    self.identity = identity
    linkTarget = nil
  }

  /// The same member at another place in its frame.
  func moved(to offset: UInt64) -> ArchivedMember {
    var member = self
    member.offset = offset
    return member
  }
}

extension ArchiveEntry.Kind {
  /// The type flag of tar, which the index has too.
  var typeFlag: UInt8 {
    switch self {
    case .file: UInt8(ascii: "0")
    case .hardLink: UInt8(ascii: "1")
    case .symbolicLink: UInt8(ascii: "2")
    case .characterDevice: UInt8(ascii: "3")
    case .blockDevice: UInt8(ascii: "4")
    case .directory: UInt8(ascii: "5")
    case .fifo: UInt8(ascii: "6")
    }
  }

  /// What programs know the kind by.
  package var word: String { self == .hardLink ? FileStatus.Kind.hardLinkWord : fileKind.word }

  /// The kind of member that something becomes; nil for what no archive takes.
  init?(_ kind: FileStatus.Kind) {
    switch kind {
    case .regular: self = .file
    case .directory: self = .directory
    case .symbolicLink: self = .symbolicLink
    case .fifo: self = .fifo
    case .characterDevice: self = .characterDevice
    case .blockDevice: self = .blockDevice
    case .socket, .unknown: return nil
    }
  }

  /// What a member of the kind is as a file.
  var fileKind: FileStatus.Kind {
    switch self {
    case .file, .hardLink: .regular
    case .symbolicLink: .symbolicLink
    case .characterDevice: .characterDevice
    case .blockDevice: .blockDevice
    case .directory: .directory
    case .fifo: .fifo
    }
  }
}
