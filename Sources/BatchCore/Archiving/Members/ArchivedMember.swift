import BatchEngine

/// A member of an archive: as it was written, or as an index describes it.
package struct ArchivedMember: Sendable, Hashable {
  /// Its name in the archive.
  package let path: PathBytes
  package let kind: ArchiveEntry.Kind
  /// Bytes of content, holes included.
  package let size: UInt64
  package let modified: FileStatus.Time
  /// The digest of the whole content; nil for a member without content, and if it was not computed or requested.
  package internal(set) var digest: Digest?
  package internal(set) var flags: MemberFlags = []
  /// The digest of the extended attributes of a file that was written; nil without any.
  var attributes: Digest?
  /// The bytes of data in the archive, if the member has only a part of a file.
  package var partSize: UInt64?
  /// The hashes of the blocks of a file that was written, if they were requested.
  var blocks: BlockList?
  /// For a file with content that was written: ``ReadOutcome/isSettled``.
  var isSettled = false
  /// The number that the caller of the worker gave the item from which the member was made; 0 if it gave none.
  var number: UInt64 = 0
  /// In an index: the number of the frame in which it begins.
  var frame = 0
  /// The offset of its first header in the content of that frame.
  var offset: UInt64 = 0
  /// Nil if unknown or not requested.
  var header: HeaderChecksum?
  /// The file to which a hard link leads, or of which this is the first name.
  var identity: FileIdentity?
  /// The target of a link; an index does not store it.
  var linkTarget: PathBytes?

  func agrees(with entry: ArchiveEntry) -> Bool {
    path == entry.path && kind == entry.kind && modified == entry.modified && size == entry.size
  }
}

extension ArchivedMember {
  init(
    _ entry: ArchiveEntry, offset: Int = 0, header: HeaderChecksum? = nil, digest: Digest? = nil,
    flags: MemberFlags = [], identity: FileIdentity? = nil
  ) {
    self.init(
      path: entry.path, kind: entry.kind, size: entry.size, modified: entry.modified, digest: digest,
      flags: flags, offset: UInt64(offset), header: header, identity: identity, linkTarget: entry.linkTarget)
  }
}

extension ArchiveEntry.Kind {
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
