import BatchEngine
import BatchOutputs

extension Batch {
  /// How the outputs of a transformation are written.
  public struct TransformOptions: Sendable {
    public var settings = Settings()
    /// Selects the files below the paths that are read.
    public var walk = WalkOptions()
    /// The suffix that is added to the names; not empty and without a slash.
    public var suffix: PathBytes
    /// The folder below which the paths are mirrored, created if it is missing; nil puts each output beside its source.
    public var outputDirectory: PathBytes?
    /// The same as ``Batch/CompressOptions/replacing``.
    public var replacing = Replacing.older
    /// The same as ``Batch/CompressOptions/replacesUnmarked``.
    public var replacesUnmarked = false
    /// Syncs outputs to the disk before they get their names.
    public var isSynced = true
    /// Files of this size in bytes or more fail, because each operation has one whole file in memory.
    public var sizeLimit: Int64 = 256 << 20

    /// The defaults: outputs beside their sources, with this suffix.
    public init(suffix: PathBytes) {
      self.suffix = suffix
    }
  }

  /// Calls a closure with the content of each file, and writes the bytes that it returns to one output for each file. Outputs
  /// are written in the same way, and as fast, as by ``compress(_:_:progress:each:)``.
  ///
  /// An output has the owner, mode, time and attributes of its source, and appears when it is complete. Files that are outputs
  /// of an earlier call are not read.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: the files and folders.
  ///   - options: how the outputs are written, and the resources that the call may use.
  ///   - progress: receives states until the call returns; with nil, the tree is not walked a second time to count the files.
  ///   - each: receives the sources that did not fail in the order of the tree, one call at a time, on a thread of the run. It
  ///     may be slow, because the run waits for it when too many results are pending; it must not wait for the end of the call.
  ///   - body: receives the content of a file and returns the content of its output; called on several threads at once. If it
  ///     throws, the file fails with this error.
  /// - Returns: the counts and the complete outputs.
  /// - Throws: `invalid` for a suffix that is not possible, `exhausted` if the machine does not allow a run, `unwritable` if the
  ///   folder of the outputs cannot be created.
  public static func transform(
    _ paths: [some PathName], _ options: TransformOptions, progress: Progress? = nil,
    each: (@Sendable (TransformedFile) -> Void)? = nil,
    _ body: @escaping @Sendable ([UInt8]) throws(BatchError) -> [UInt8]
  ) async throws(BatchError) -> Report<WrittenFiles> {
    let paths = try paths.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: WrittenFiles()) {
      (library) throws(BatchError) in
      try requireSuffix(options.suffix)
      // Every file with the suffix counts as an output: its content may have any form.
      var outputs = OutputOptions(
        naming: OutputNaming(.adding(suffix: options.suffix), directory: options.outputDirectory),
        recognizing: OutputOptions.Recognition(length: 1) { _ in true })
      outputs.replacing = options.replacing
      outputs.replacesUnmarked = options.replacesUnmarked
      outputs.isSynced = options.isSynced
      outputs.compressesAll = true
      var call = CompressCall(.gz, level: nil, outputs)
      call.transform = body
      call.wholeBelow = max(1, options.sizeLimit)
      try library.write(call, paths, options.walk, each)
    }
  }

  /// - Throws: `invalid` if the bytes cannot be added to a name.
  static func requireSuffix(_ suffix: PathBytes) throws(BatchError) {
    guard !suffix.isEmpty, !suffix.bytes.contains(UInt8(ascii: "/")), !suffix.containsNUL else {
      throw BatchError(.invalid, "is no suffix of a name", path: suffix)
    }
  }
}
