import BatchEngine
import Glibc

/// Proves that an output holds what its source held, by reading it back.
enum OutputProof {
  /// - Throws: `unwritable` when what comes back is not what it should be.
  static func prove(
    _ file: AtomicFile, has expected: Digest, _ decoder: StreamDecoder, _ digest: DigestStream,
    _ cancellation: Cancellation
  ) throws(BatchError) {
    decoder.reset()
    digest.reset()
    do throws(BatchError) {
      try file.readBack { (piece) throws(BatchError) in
        try cancellation.check()
        try plainly { () throws(DecodingError) in
          try decoder.decode(piece) { (content) throws(BatchError) in try digest.update(content) }
        }
      }
      try plainly { () throws(DecodingError) in try decoder.finish() }
      guard try digest.finish() == expected else {
        throw BatchError(
          .unwritable, "the output that was read back differs from its source", path: file.target)
      }
    } catch {
      throw error.path == nil ? error.at(file.target) : error
    }
  }

  /// Compares what has the name of an output with the content that it should have.
  ///
  /// - Parameters:
  ///   - folder: the target's.
  ///   - decoder: nil when the output is not compressed.
  /// - Throws: `invalid` when it is something else, which is not to be replaced.
  static func proveExisting(
    _ target: PathBytes, in folder: OutputFolder, has expected: Digest, _ decoder: StreamDecoder?,
    _ digest: DigestStream
  ) throws(BatchError) {
    let other = BatchError(
      .invalid, "has the time of its source and not its content: both stay", path: target,
      remedy: "--force replaces it")
    guard let status = try folder.look(at: PathBytes(target.lastComponent)) else { return }
    let record = FileRecord(
      directory: DirectoryPath(ofFileOperand: target), names: NameArena(name: target.lastComponent),
      nameOffset: 0, status: status, followsLinks: false)
    let reader = FileReader(calls: LinuxCalls())
    reader.useFolder(folder.raw, for: record.directory, of: folder)
    var failure: BatchError?
    do throws(BatchError) {
      _ = try reader.read(record) {
        decoder?.reset()
        digest.reset()
      } consume: { (piece) throws(BatchError) in
        guard let decoder else { return try digest.update(piece) }
        try plainly { () throws(DecodingError) in
          try decoder.decode(piece) { (content) throws(BatchError) in try digest.update(content) }
        }
      }
      if let decoder { try plainly { () throws(DecodingError) in try decoder.finish() } }
    } catch {
      guard error.code == .unwritable else { throw error }
      failure = other
    }
    let found = try digest.finish()
    guard failure == nil, found == expected else { throw other }
  }

  private static func plainly(_ body: () throws(DecodingError) -> Void) throws(BatchError) {
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
