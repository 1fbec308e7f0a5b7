import BatchEngine
import BatchOutputs

extension Batch {
  /// How files are compressed.
  public struct CompressOptions: Sendable {
    public var settings = Settings()
    /// Which files below the paths are compressed.
    public var walk = WalkOptions()
    /// One of ``CompressionFormat/writable``.
    public var format = CompressionFormat.gz
    /// One of the levels of the format; nil for its default.
    public var level: Int?
    /// What is added to the names; nil for the suffix of the format. Without a slash.
    public var suffix: PathBytes?
    /// Where the paths are mirrored to; nil puts each output beside its source. It is made where it is missing.
    public var outputDirectory: PathBytes?
    public var replacing = Replacing.older
    /// Removes a source after its output was read back and compared with it, and is on the disk.
    public var removesSources = false
    /// Brings outputs to the disk before they get their names.
    public var isSynced = true
    /// Writes an output also where it is not smaller than its source, and of files that are compressed already.
    public var compressesAll = false
    /// Copies what gets no compressed output to ``outputDirectory``.
    public var copiesOthers = false

    /// `gz` at its default level, beside the sources, which stay.
    public init() {}
  }

  /// How files are decompressed.
  public struct DecompressOptions: Sendable {
    public var settings = Settings()
    /// Which files below the paths are decompressed, of those that have a suffix of a format that is known.
    public var walk = WalkOptions()
    /// As ``CompressOptions/outputDirectory``.
    public var outputDirectory: PathBytes?
    public var replacing = Replacing.never
    /// Removes a source when its content is on the disk.
    public var removesSources = false
    /// Brings outputs to the disk before they get their names.
    public var isSynced = true
    /// Bytes that one file may become; nil for any number.
    public var mostOutput: UInt64?

    /// Outputs stand beside the sources, which stay; nothing is replaced.
    public init() {}
  }

  /// Compresses the files below some paths, one output for each.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: of files and folders.
  ///   - options: how, and with what of the machine.
  ///   - progress: gets states until the call returns; nil for none, which saves the walk that counts.
  /// - Returns: the counts, and the outputs, each of which is complete.
  /// - Throws: `invalid` for a level or suffix that cannot be, `exhausted` where the machine does not allow a run, `unwritable`
  ///   where the folder of the outputs cannot be made.
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

  /// Decompresses the files below some paths whose names have a suffix that is known, one output for each.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: of files and folders.
  ///   - options: how, and with what of the machine.
  ///   - progress: gets states until the call returns; nil for none, which saves the walk that counts.
  /// - Returns: the counts, and the outputs, each of which is complete. Damaged files are among the failures.
  /// - Throws: `exhausted` where the machine does not allow a run, `unwritable` where the folder of the outputs cannot be made.
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
      let job = DecompressJob(outputs, decoding: decoding, output: NoStream()) { report in
        call.note { $0.add(report, most: call.settings.mostListed) }
      }
      call.start(job, over: source, in: run, count: (paths, walk))
    }
  }

  /// What a run reads that writes an output for each source: its own outputs are left out.
  static func tree(
    _ paths: [PathBytes], _ walk: WalkOptions, _ naming: OutputNaming, _ run: RunContext
  ) throws(BatchError) -> (paths: [PathBytes], walk: WalkOptions) {
    var walk = walk.ofCall
    if let directory = try naming.makeDirectory(by: run.calls) { walk.excluded.insert(directory) }
    return (paths.asFiles, walk)
  }
}

/// Standard output, of which no call makes use.
struct NoStream: ResultStream {
  func write(_ bytes: [UInt8]) throws(BatchError) {
    throw BatchError(.invalid, "a call of the library writes to no stream")
  }

  func finish() {}
}

extension [PathBytes] {
  /// The same without a path that means standard input.
  var asFiles: [PathBytes] { map { $0 == "-" ? "./-" : $0 } }
}

extension WalkOptions {
  /// What the walk of a call is in any case: without temporary files, and with help only where that is worth its price.
  var ofCall: WalkOptions {
    var walk = self
    walk.skipsTemporaries = true
    if walk.readAheadThreshold == .zero { walk.readAheadThreshold = Self.usualReadAheadThreshold }
    return walk
  }
}
