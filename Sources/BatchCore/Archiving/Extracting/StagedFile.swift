import BatchEngine
import Synchronization

/// A file with its content and metadata, which gets its name when all members before it are there.
final class StagedFile: Sendable {
  let losses: EntryMetadata.Losses
  private let file: Mutex<ExtractedFile?>
  /// Where the file was made; it may have a temporary name there.
  private let folder: Descriptor

  init(_ file: consuming ExtractedFile, losses: EntryMetadata.Losses, folder: consuming Descriptor) {
    self.file = Mutex(file)
    self.losses = losses
    self.folder = folder
  }

  deinit {
    // A temporary name goes while its folder is open.
    file.withLock { $0 = nil }
  }

  /// Gives the file its name; to be called once.
  ///
  /// - Throws: `invalid` when the name is taken and may not be replaced.
  func publish(as name: PathBytes, in folder: Int32, replacing: Bool) throws(BatchError) {
    guard let file = file.withLock({ $0.take() }) else { return }
    try file.publish(as: name, in: folder, replacing: replacing)
  }
}
