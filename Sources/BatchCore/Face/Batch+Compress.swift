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
    /// With ``Replacing/older`` only outputs are replaced whose mark, the extended attribute `user.batchproc.source`, says that
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
  /// - Returns: the counts and the complete outputs.
  /// - Throws: `invalid` for a level or suffix that is not possible, `exhausted` if the machine does not allow a run,
  ///   `unwritable` if the folder of the outputs cannot be created.
  public static func compress(
    _ paths: [PathBytes], _ options: CompressOptions = CompressOptions(), progress: Progress? = nil
  ) async throws(BatchError) -> Report<WrittenFiles> {
    try await BatchCall.perform(options.settings, progress, WrittenFiles()) { (call) throws(BatchError) in
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
      let run = try call.makeRun(
        paths.first, laneMemory: try options.format.memoryOfLane(level: options.level), outputs: &outputs)
      let (paths, walk) = try tree(paths, options.walk, outputs.naming, run)
      let source = try CompressSource(
        run.tree(paths, options: walk), operandCount: paths.count, format: options.format,
        level: options.level,
        options: outputs, cancellation: run.cancellation)
      let job = CompressJob(of: source, output: NoStream()) { report in
        call.note { $0.add(report, most: call.settings.mostListed) }
      }
      call.start(job, over: source, in: run, count: (paths, walk))
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
  /// - Returns: the counts and the complete outputs. Damaged files are among the failures.
  /// - Throws: `exhausted` if the machine does not allow a run, `unwritable` if the folder of the outputs cannot be created.
  public static func decompress(
    _ paths: [PathBytes], _ options: DecompressOptions = DecompressOptions(), progress: Progress? = nil
  ) async throws(BatchError) -> Report<WrittenFiles> {
    try await BatchCall.perform(options.settings, progress, WrittenFiles(decompressed: true)) {
      (call) throws(BatchError) in
      var outputs = OutputOptions(naming: OutputNaming(.decompressing, directory: options.outputDirectory))
      outputs.replacing = options.replacing
      outputs.removesSource = options.removesSources
      outputs.isSynced = options.isSynced
      let run = try call.makeRun(paths.first, outputs: &outputs)
      let (paths, walk) = try tree(paths, options.walk, outputs.naming, run)
      let source = DecompressSource(run.tree(paths, options: walk), operands: paths, naming: outputs.naming)
      let decoding = DecoderOptions(maximumOutput: options.mostOutput, memory: run.options.memory)
      let job = DecompressJob(outputs, decoding: decoding, asked: source.asked, output: NoStream()) {
        report in
        call.note { $0.add(report, most: call.settings.mostListed) }
      }
      call.start(job, over: source, in: run, count: (paths, walk))
    }
  }

  /// The sources of a run that writes one output for each source; outputs of the run are excluded.
  static func tree(
    _ paths: [PathBytes], _ walk: WalkOptions, _ naming: OutputNaming, _ run: RunContext
  ) throws(BatchError) -> (paths: [PathBytes], walk: WalkOptions) {
    var walk = walk.ofCall
    if let directory = try naming.makeDirectory(by: run.calls) { walk.excluded.insert(directory) }
    return (paths.asFiles, walk)
  }
}

/// A stream in place of standard output, which no call uses.
struct NoStream: ResultStream {
  func write(_ bytes: [UInt8]) throws(BatchError) {
    throw BatchError(.invalid, "a call of the library writes to no stream")
  }

  func finish() {}
}

extension [PathBytes] {
  /// The same paths; a path that means standard input is changed to the file of that name.
  var asFiles: [PathBytes] { map { $0 == "-" ? "./-" : $0 } }
}

extension WalkOptions {
  /// The same options with the settings of every call: temporary files are excluded, and folders are read ahead only if that is
  /// faster.
  var ofCall: WalkOptions {
    var walk = self
    walk.skipsTemporaries = true
    if walk.readAheadThreshold == .zero { walk.readAheadThreshold = Self.usualReadAheadThreshold }
    return walk
  }
}
