/// The output of a large file while its blocks are joined.
final class LargeOutput: Sendable {
  let file: LargeFile
  let target: AtomicFile
  private let joiner: Locked<BlockJoiner>

  /// - Throws: what ``AtomicFile/init(at:replacing:registry:)`` throws.
  init(_ file: LargeFile, _ options: TransformOptions, _ folders: OutputFolders) throws(BatchError) {
    self.file = file
    let path = options.naming.target(of: file.record.path) ?? file.record.path
    target = try AtomicFile(
      outputOf: file.record.status, at: path, in: folders.folder(of: path), file.decision, options)
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
    try target.prepare(
      .init(of: file.record.status), attributes: file.notedAttributes)
    return target.size
  }

  /// Reads the output back and compares what it decodes to with the source.
  func prove(_ format: CompressionFormat, _ cancellation: Cancellation) throws(BatchError) {
    let digest = try DigestStream(.xxh128)
    let reader = FileReader(calls: LinuxCalls())
    let outcome = try reader.read(file.record) {
      digest.reset()
    } consume: { (piece) throws(BatchError) in
      try cancellation.check()
      try digest.update(piece)
    }
    guard outcome.isStable else {
      throw BatchError(.changed, "changed while it was read", path: file.record.path)
    }
    let expected = try digest.finish()
    let decoder = try format.makeDecoder()
    try OutputProof.prove(target, has: expected, decoder, digest, cancellation)
    if file.decision == .rewrite {
      try OutputProof.proveExisting(target.target, has: expected, decoder, digest)
    }
  }
}
