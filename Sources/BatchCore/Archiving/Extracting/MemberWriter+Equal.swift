import BatchEngine

extension MemberWriter {
  /// In bytes.
  private static let pieceSize = 256 << 10

  /// Whether the existing file equals what the member would create. Metadata of a file is not compared if the digest of its
  /// content is known.
  ///
  /// - Parameter parent: the open folder that contains the name.
  /// - Throws: the reason when the run was stopped.
  func isEqual(
    _ status: FileStatus, to order: ExtractionOrder, in parent: OpenFolder
  ) throws(BatchError) -> Bool {
    let name = order.place.name
    switch order.entry.kind {
    case .file:
      guard status.kind == .regular, order.entry.hasSize, UInt64(exactly: status.size) == order.entry.size
      else { return false }
      guard let digest = order.digest else { return status.modified == order.entry.modified }
      return try content(of: name, in: parent) == digest
    case .hardLink:
      guard order.entry.size == 0, let first = order.linkPlace,
        let source = try? folder.open(first.parent, creating: false)
      else { return false }
      return (try? source.look(at: first.name))?.identity == status.identity
    case .symbolicLink:
      return status.kind == .symbolicLink
        && (try? LinkTarget.read(name, in: parent.raw)) == order.entry.linkTarget
    case .fifo, .characterDevice, .blockDevice: return order.entry.isNode(of: status)
    case .directory: return false
    }
  }

  /// Whether an existing file has the owner, mode, time and attributes that the member would have.
  func hasMetadata(_ status: FileStatus, of order: ExtractionOrder, in parent: OpenFolder) -> Bool {
    // A further name has the metadata of its file.
    if order.entry.kind == .hardLink { return true }
    guard metadata(of: order).isThat(of: status) else { return false }
    guard order.entry.kind == .file, options.restoresAttributes else { return true }
    guard let file = try? parent.openFile(order.place.name) else { return false }
    return Set(AttributeReader.attributes(of: file.raw))
      == Set(order.entry.attributes.filter { !$0.isOfKernel })
  }

  /// Whether a further name of a file is taken by a separate file with the same content, or that of a link or FIFO by another one
  /// that is the same; false for a file of which no digest is known.
  func isCopyOfFirst(
    _ status: FileStatus, _ order: ExtractionOrder, in parent: OpenFolder
  ) throws(BatchError) -> Bool {
    guard order.entry.kind == .hardLink, order.entry.size == 0 else { return false }
    guard status.kind != .regular else {
      guard let digest = order.digest else { return false }
      return try content(of: order.place.name, in: parent) == digest
    }
    guard let first = order.linkPlace, let source = try? folder.open(first.parent, creating: false),
      let other = try? source.look(at: first.name), other.kind == status.kind
    else { return false }
    switch status.kind {
    case .symbolicLink:
      return (try? LinkTarget.read(first.name, in: source.raw))
        == (try? LinkTarget.read(order.place.name, in: parent.raw))
    case .fifo: return true
    case .characterDevice, .blockDevice: return other.device == status.device
    default: return false
    }
  }

  /// The SHA-256 of a file; nil for one that cannot be read.
  func content(of name: PathBytes, in parent: OpenFolder) throws(BatchError) -> Digest? {
    guard let file = try? parent.openFile(name) else { return nil }
    let stream = try DigestStream(.sha256)
    var buffer = [UInt8](repeating: 0, count: Self.pieceSize)
    while true {
      try cancellation.check()
      let raw = file.raw
      let count = buffer.withUnsafeMutableBytes { bytes in
        parent.calls.read(raw, into: bytes)
      }
      if count == 0 { return try stream.finish() }
      guard count > 0 else { return nil }
      try withBytes(of: buffer) { (bytes) throws(BatchError) in
        try stream.update(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
      }
    }
  }
}
