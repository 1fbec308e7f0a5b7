import BatchEngine

/// A member that was written, as the index and the report describe it.
package struct ArchivedMember: Sendable, Hashable {
  /// Its name in the archive.
  package let path: PathBytes
  package let kind: ArchiveEntry.Kind
  /// Bytes of content, holes included.
  package let size: UInt64
  package let modified: FileStatus.Time
  /// The digest of the whole content; nil for a member without content, and if it was not computed.
  package var digest: Digest?
  package var flags: MemberFlags = []
  /// For a file with content: ``ReadOutcome/isSettled``.
  var isSettled = false
  /// The offset of its first header in the decoded frame.
  private(set) var offset: UInt64
  let header: HeaderChecksum
  /// The file to which a hard link leads, or of which this is the first name.
  let identity: FileIdentity?
  /// The target of a link.
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

  /// A member from a stored record.
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
  /// The type flag of tar, which the index uses too.
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

  /// The name of the kind in JSON.
  package var word: String { self == .hardLink ? FileStatus.Kind.hardLinkWord : fileKind.word }

  /// The kind of member for a kind of file; nil for one that no archive can contain.
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

  /// The kind of file for this kind of member.
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
