import BatchEngine

/// Proves that outputs hold what their sources held, by reading them back.
final class OutputProof {
  let digest: DigestStream
  /// Nil where outputs are not compressed.
  private let decoder: StreamDecoder?
  private let calls: any FileSystemCalls
  private let right: ReadingRight
  private let probe: LaneProbe

  /// - Parameters:
  ///   - decoder: of the format that outputs are in; nil when they are not compressed.
  ///   - digest: takes the content.
  ///   - calls: those that read.
  ///   - probe: of the lane; holds the reading back, and ends it.
  init(
    _ decoder: StreamDecoder?, _ digest: DigestStream, _ calls: any FileSystemCalls,
    _ probe: LaneProbe, by right: ReadingRight
  ) {
    self.decoder = decoder
    self.digest = digest
    self.calls = calls
    self.probe = probe
    self.right = right
  }

  /// Takes the digest of a file that lies in a folder.
  func digest(of record: FileRecord, in folder: OpenFolder) throws(BatchError) -> ReadOutcome {
    try read(record, in: folder) { () throws(BatchError) in
      digest.reset()
    } consume: { (piece) throws(BatchError) in
      try digest.update(piece)
    }
  }

  /// - Throws: `unwritable` when what comes back is not what it should be.
  func prove(_ file: AtomicFile, has expected: Digest) throws(BatchError) {
    restart()
    do throws(BatchError) {
      try file.readBack { (piece) throws(BatchError) in
        try probe.check()
        try take(piece)
      }
      try finish()
      guard try digest.finish() == expected else {
        let other = decoder == nil ? "what was decoded" : "its source"
        throw BatchError(
          .unwritable, "the output that was read back differs from \(other)", path: file.target)
      }
    } catch {
      throw error.path == nil ? error.at(file.target) : error
    }
  }

  /// Compares what has the name of an output with the content that it should have.
  ///
  /// - Parameter folder: the target's.
  /// - Throws: `invalid` when it is something else, which is not to be replaced.
  func proveExisting(
    _ target: PathBytes, in folder: OpenFolder, has expected: Digest
  ) throws(BatchError) {
    let other = BatchError(
      .invalid, "has the time of its source and not its content: both stay", path: target,
      remedy: .replaceOutput)
    guard let status = try folder.look(at: PathBytes(target.lastComponent)) else { return }
    let record = FileRecord(
      directory: DirectoryPath(ofFileOperand: target), names: NameArena(name: target.lastComponent),
      nameOffset: 0, status: status, followsLinks: false)
    var isDamaged = false
    do throws(BatchError) {
      _ = try read(record, in: folder, restart: restart) { (piece) throws(BatchError) in try take(piece) }
      try finish()
    } catch {
      guard error.code == .unwritable else { throw error }
      isDamaged = true
    }
    let found = try digest.finish()
    guard !isDamaged, found == expected else { throw other }
  }

  private func read(
    _ record: FileRecord, in folder: OpenFolder, restart: () throws(BatchError) -> Void,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> ReadOutcome {
    let reader = FileReader(calls: calls, by: right)
    reader.useFolder(folder.raw, for: record.directory, of: folder)
    return try reader.read(record, restart: restart) { (piece) throws(BatchError) in
      try probe.check()
      try consume(piece)
    }
  }

  private func restart() {
    decoder?.reset()
    digest.reset()
  }

  private func take(_ piece: UnsafeRawBufferPointer) throws(BatchError) {
    guard let decoder else { return try digest.update(piece) }
    try decoded { () throws(DecodingError) in
      try decoder.decode(piece) { (content) throws(BatchError) in try digest.update(content) }
    }
  }

  private func finish() throws(BatchError) {
    guard let decoder else { return }
    try decoded { () throws(DecodingError) in try decoder.finish() }
  }

  private func decoded(_ body: () throws(DecodingError) -> Void) throws(BatchError) {
    do throws(DecodingError) {
      try body()
    } catch {
      switch error {
      case .failed(let error): throw error
      case .damaged(let damage):
        throw BatchError(.unwritable, "the output that was read back is \(damage.message)")
      }
    }
  }
}
