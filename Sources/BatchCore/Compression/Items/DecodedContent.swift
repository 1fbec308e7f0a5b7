import BatchEngine
import BatchOutputs

/// Computes the digest of an output's decoded content.
final class DecodedContent: OutputContent {
  let digest: DigestStream
  /// Nil if outputs are not compressed.
  private let decoder: StreamDecoder?

  /// - Parameters:
  ///   - decoder: the decoder of the outputs' format; nil if they are not compressed.
  ///   - digest: receives the content.
  init(_ decoder: StreamDecoder?, _ digest: DigestStream) {
    self.decoder = decoder
    self.digest = digest
  }

  func restart() {
    decoder?.reset(isHasty: true)
    digest.reset()
  }

  func take(_ piece: UnsafeRawBufferPointer) throws(BatchError) {
    guard let decoder else { return try digest.update(piece) }
    try decoded { () throws(DecodingError) in
      try decoder.decode(piece) { (content) throws(BatchError) in try digest.update(content) }
    }
  }

  func end() throws(BatchError) {
    guard let decoder else { return }
    try decoded { () throws(DecodingError) in try decoder.finish() }
  }

  func found() throws(BatchError) -> Digest { try digest.finish() }

  private func decoded(_ body: () throws(DecodingError) -> Void) throws(BatchError) {
    guard let damage = try FileDecoder.damage(body) else { return }
    throw BatchError(.unwritable, "the output that was read back is \(damage.message)")
  }
}

extension OutputProof<DecodedContent> {
  convenience init(
    _ decoder: StreamDecoder?, digest: DigestStream, calls: any FileSystemCalls, probe: LaneProbe,
    by right: ReadingRight
  ) {
    self.init(
      DecodedContent(decoder, digest), comparedWith: decoder == nil ? "what was decoded" : "its source",
      calls,
      probe, by: right)
  }

  var digest: DigestStream { content.digest }

  /// Computes the digest of a file in a folder, without decoding.
  func digest(of record: FileRecord, in folder: OpenFolder) throws(BatchError) -> ReadOutcome {
    try read(record, in: folder) { () throws(BatchError) in
      digest.reset()
    } consume: { (piece) throws(BatchError) in
      try digest.update(piece)
    }
  }

  /// Compares an output that has the time of its source with the source, which is removed when that is on the disk.
  ///
  /// - Parameters:
  ///   - kept: receives the folders.
  ///   - read: reads the source and computes its digest; nil when the source must not be used, which has been reported.
  /// - Returns: nil when it failed, which has been reported.
  func compare(
    _ record: FileRecord, with output: FileIdentity, _ plan: OutputPlan, _ outputs: OutputStage,
    in context: WorkerContext, kept: inout OutputPlace?,
    read: () throws(BatchError) -> (status: FileStatus, isStable: Bool)?
  ) throws(BatchError) -> TransformRow? {
    let report = TransformReport(source: record.path, outcome: .upToDate)
    if outputs.options.isDryRun {
      context.skip(.upToDate)
      return .report(report, LinkedSource.of(record, output: output))
    }
    try outputs.reserve()
    do throws(BatchError) {
      let place = try outputs.folders.prepare(plan.place)
      kept = place
      guard let outcome = try read() else {
        outputs.release()
        return nil
      }
      guard outcome.isStable else {
        outputs.release()
        context.skip(.upToDate)
        return .report(report, LinkedSource.of(record, output: output))
      }
      let expected = try digest.finish()
      let existing = try ExistingOutput(
        plan.target, in: place.outputFolder, output, isMarked: outputs.options.naming.marksOutputs)
      try proveExisting(existing, has: expected)
      return .output(report, outputs.add(existing, of: record, outcome.status, at: place))
    } catch {
      outputs.release()
      guard error.code != .cancelled else { throw error }
      context.report(Problem(.unreadable, error.path == nil ? error.at(record.path) : error))
      return nil
    }
  }
}
