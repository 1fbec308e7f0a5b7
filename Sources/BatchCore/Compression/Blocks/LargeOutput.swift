import BatchEngine

/// The output of a large file while its blocks are joined.
final class LargeOutput: Sendable {
  let file: LargeFile
  let target: AtomicFile
  private let place: OutputPlace
  private let joiner: Locked<BlockJoiner>

  /// - Throws: what ``AtomicFile/init(at:replacing:registry:)`` throws, and `changed` or `vanished` where the source's
  ///   folder is not there any more.
  init(_ file: LargeFile, _ options: TransformOptions, _ folders: OutputFolders) throws(BatchError) {
    self.file = file
    let path = options.naming.target(of: file.record.path) ?? file.record.path
    var last: OutputPlace?
    place = try folders.prepare(try folders.place(of: file.record, after: &last))
    target = try AtomicFile(
      outputOf: file.seen.status, at: path, in: place.target ?? place.source, file.decision, options)
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
  /// - Returns: the size of the output in bytes; and what to report of it.
  func finish() throws(BatchError) -> (size: Int64, remark: BatchError?) {
    let trailer = try joiner.use { (joiner) throws(BatchError) in try joiner.finish() }
    try target.write(trailer.span)
    let seen = file.seen
    let remark = try target.prepare(.init(of: seen.status), attributes: seen.attributes)
    return (target.size, remark)
  }

  /// The output as one that waits for its name, which proves nothing.
  func staged() -> StagedOutput {
    StagedOutput(target, of: file.record, file.seen.status, at: place, isProved: false)
  }

  /// Reads the output back and compares what it decodes to with the source, which may go then.
  func proved(_ format: CompressionFormat, _ cancellation: Cancellation) throws(BatchError) -> StagedOutput {
    let digest = try DigestStream(.xxh128)
    let reader = FileReader(calls: LinuxCalls())
    reader.useFolder(place.source.raw, for: file.record.directory, of: place.source)
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
      try OutputProof.proveExisting(
        target.target, in: place.target ?? place.source, has: expected, decoder, digest)
    }
    return StagedOutput(target, of: file.record, outcome.status, at: place, isProved: true)
  }
}
