import BatchEngine
import BatchOutputs

extension Batch {
  /// How files are compressed.
  public struct CompressOptions: Sendable {
    public var settings = Settings()
    /// Selects the files below the paths that are compressed.
    public var walk = WalkOptions()
    /// One of ``CompressionFormat/writable``.
    public var format = CompressionFormat.gz
    /// One of the levels of the format; nil for its default.
    public var level: Int?
    /// The suffix that is added to the names, without a slash; nil for the suffix of the format.
    public var suffix: PathBytes?
    /// The folder below which the paths are mirrored, created if it is missing; nil puts each output beside its source.
    public var outputDirectory: PathBytes?
    /// With `Replacing.older` only outputs are replaced whose mark, the extended attribute `user.batchproc.source`, says that
    /// their source was kept; on a file system without such attributes every older output. If sources are removed, none is.
    public var replacing = Replacing.older
    /// Also replaces older outputs without that mark, which may be the only copies of their content.
    public var replacesUnmarked = false
    /// Removes a source after its output was read back and compared with it, and is on the disk.
    public var removesSources = false
    /// Syncs outputs to the disk before they get their names.
    public var isSynced = true
    /// Also writes outputs that are not smaller than their sources, and outputs of files that are compressed already.
    public var compressesAll = false
    /// Copies the sources without a compressed output to ``outputDirectory``. A source whose copy could have the name of another
    /// output fails: `a.gz` beside `a`.
    public var copiesOthers = false

    /// The defaults: `gz` at its default level, beside the sources, which stay.
    public init() {}
  }

  /// How files are decompressed.
  public struct DecompressOptions: Sendable {
    public var settings = Settings()
    /// Selects the files below the paths that are decompressed. Files without the suffix of a known format are ignored.
    public var walk = WalkOptions()
    /// The same as ``CompressOptions/outputDirectory``.
    public var outputDirectory: PathBytes?
    public var replacing = Replacing.never
    /// Removes a source when its content is on the disk.
    public var removesSources = false
    /// Syncs outputs to the disk before they get their names.
    public var isSynced = true
    /// The largest decompressed size of one file in bytes; nil for no limit.
    public var mostOutput: UInt64?

    /// The defaults: outputs beside the sources, which stay; no file is replaced.
    public init() {}
  }

  /// Compresses files, and all files below folders; each gets one output.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: the files and folders.
  ///   - options: how the outputs are made, and the resources that the call may use.
  ///   - progress: receives states until the call returns; with nil, the tree is not walked a second time to count the files.
  ///   - each: receives the sources that did not fail in the order of the tree, one call at a time, on a thread of the run. It
  ///     may be slow, because the run waits for it when too many results are pending; it must not wait for the end of the call.
  /// - Returns: the counts and the complete outputs.
  /// - Throws: `invalid` for a level or suffix that is not possible, `exhausted` if the machine does not allow a run,
  ///   `unwritable` if the folder of the outputs cannot be created.
  public static func compress(
    _ paths: [some PathName], _ options: CompressOptions = CompressOptions(), progress: Progress? = nil,
    each: (@Sendable (TransformedFile) -> Void)? = nil
  ) async throws(BatchError) -> Report<WrittenFiles> {
    let paths = try paths.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: WrittenFiles()) {
      (library) throws(BatchError) in
      let suffix = options.suffix ?? PathBytes(options.format.suffix)
      try requireSuffix(suffix)
      guard !options.copiesOthers || options.outputDirectory != nil else {
        throw BatchError(.invalid, "copies need a folder for the outputs")
      }
      var outputs = OutputOptions(
        naming: OutputNaming(.adding(suffix: suffix), directory: options.outputDirectory))
      outputs.replacing = options.replacing
      outputs.replacesUnmarked = options.replacesUnmarked
      outputs.removesSource = options.removesSources
      outputs.isSynced = options.isSynced
      outputs.compressesAll = options.compressesAll
      outputs.copiesOthers = options.copiesOthers
      try library.write(
        CompressCall(options.format, level: options.level, outputs), paths, options.walk, each)
    }
  }

  /// Decompresses files with a known suffix, also below folders; each gets one output.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: the files and folders.
  ///   - options: how the outputs are made, and the resources that the call may use.
  ///   - progress: receives states until the call returns; with nil, the tree is not walked a second time to count the files.
  ///   - each: receives the sources that did not fail in the order of the tree, one call at a time, on a thread of the run. It
  ///     may be slow, because the run waits for it when too many results are pending; it must not wait for the end of the call.
  /// - Returns: the counts and the complete outputs. Damaged files are among the failures.
  /// - Throws: `exhausted` if the machine does not allow a run, `unwritable` if the folder of the outputs cannot be created.
  public static func decompress(
    _ paths: [some PathName], _ options: DecompressOptions = DecompressOptions(), progress: Progress? = nil,
    each: (@Sendable (TransformedFile) -> Void)? = nil
  ) async throws(BatchError) -> Report<WrittenFiles> {
    let paths = try paths.pathBytes()
    return try await BatchCall.perform(
      options.settings, progress: progress, details: WrittenFiles(decompressed: true)
    ) {
      (library) throws(BatchError) in
      var outputs = OutputOptions(naming: OutputNaming(.decompressing, directory: options.outputDirectory))
      outputs.replacing = options.replacing
      outputs.removesSource = options.removesSources
      outputs.isSynced = options.isSynced
      try library.write(DecompressCall(outputs, mostOutput: options.mostOutput), paths, options.walk, each)
    }
  }
}

extension BatchCall<Batch.WrittenFiles> {
  /// Runs a call that writes one output for each source.
  func write<C: Call<TransformReport, TransformCounts>>(
    _ call: C, _ paths: [PathBytes], _ walk: WalkOptions,
    _ each: (@Sendable (Batch.TransformedFile) -> Void)?
  ) throws(BatchError) {
    try run(call, paths, walk.readingAheadIfFaster) { report in
      let row = self.note { $0.add(report, most: self.settings.mostListed) }
      if let row { each?(row) }
    }
  }
}

extension [PathBytes] {
  /// The same paths; a path that means standard input is changed to the file of that name.
  var asFiles: [PathBytes] { map { $0 == "-" ? "./-" : $0 } }
}

extension WalkOptions {
  /// The same options; folders are read ahead only if that is faster.
  var readingAheadIfFaster: WalkOptions {
    var walk = self
    if walk.readAheadThreshold == .zero { walk.readAheadThreshold = Self.usualReadAheadThreshold }
    return walk
  }
}
