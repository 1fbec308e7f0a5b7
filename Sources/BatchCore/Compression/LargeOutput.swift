/// The output of a large file while its blocks are joined.
final class LargeOutput: Sendable {
  let file: LargeFile
  let target: AtomicFile
  private let joiner: Locked<BlockJoiner>

  /// - Throws: what ``AtomicFile/init(at:replacing:registry:)`` throws.
  init(_ file: LargeFile, _ options: TransformOptions) throws(BatchError) {
    self.file = file
    let path = options.naming.target(of: file.record.path) ?? file.record.path
    guard case .write(let isReplacing) = file.decision else {
      throw BatchError(.invalid, "is not to be written", path: path)
    }
    if options.naming.directory != nil { try FolderMaker.make(path.parent) }
    target = try AtomicFile(at: path, replacing: isReplacing)
    let joiner = try BlockJoiner(file.plan)
    let header = joiner.header
    try target.write(header.span)
    self.joiner = Locked(joiner)
  }

  func append(_ block: CompressedBlock) throws(BatchError) {
    try joiner.use { (joiner) throws(BatchError) in try joiner.append(block) }
    try target.write(block.bytes.span)
  }

  /// Writes the end, and everything but the name.
  ///
  /// - Returns: the size of the output in bytes.
  func finish() throws(BatchError) -> Int64 {
    let trailer = try joiner.use { (joiner) throws(BatchError) in try joiner.finish() }
    try target.write(trailer.span)
    try target.prepare(.init(of: file.record.status), attributesOf: file.record.path)
    return target.size
  }

  /// Reads the output back and compares what it decodes to with the source.
  func prove(_ format: CompressionFormat) throws(BatchError) {
    let digest = try DigestStream(.xxh128)
    let reader = FileReader(calls: LinuxCalls())
    let outcome = try reader.read(file.record) {
      digest.reset()
    } consume: { (piece) throws(BatchError) in
      try digest.update(piece)
    }
    guard outcome.isStable else {
      throw BatchError(.changed, "changed while it was read", path: file.record.path)
    }
    let expected = try digest.finish()
    try OutputProof.prove(target, has: expected, try format.makeDecoder(), digest)
  }
}
