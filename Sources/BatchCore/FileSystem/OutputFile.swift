/// A file as a stream of results: it appears under its name when it is finished.
public final class OutputFile: ResultStream {
  private let file: AtomicFile
  private let isSynced: Bool

  /// Removes what dead runs left in the target's folder, and opens the temporary file.
  ///
  /// - Parameters:
  ///   - isReplacing: whether a file that has the name gives way.
  ///   - isSynced: whether content and name are on the disk when ``finish()`` returns.
  /// - Throws: as ``AtomicFile/init(at:replacing:registry:)``.
  public init(_ path: PathBytes, isReplacing: Bool, isSynced: Bool) throws(BatchError) {
    _ = StaleTemporaries.remove(in: path.parent)
    file = try AtomicFile(at: path, replacing: isReplacing)
    self.isSynced = isSynced
  }

  /// The temporary file's inode, for ``WalkOptions/excluded``.
  public var identity: FileIdentity? { file.identity }

  /// As it was given.
  var path: PathBytes { file.target }

  /// A further descriptor, for reading what was written so far; as ``AtomicFile/openForReading(syncing:)``.
  func openForReading(syncing: Bool) throws(BatchError) -> Int32 {
    try file.openForReading(syncing: syncing)
  }

  public func write(_ bytes: [UInt8]) throws(BatchError) {
    try file.write(bytes.span)
  }

  public func finish() throws(BatchError) {
    try file.commit(syncing: isSynced)
  }

  /// Removes the temporary file.
  public func discard() {
    file.discard()
  }
}
