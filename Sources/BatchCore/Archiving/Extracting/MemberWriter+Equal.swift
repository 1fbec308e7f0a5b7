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
