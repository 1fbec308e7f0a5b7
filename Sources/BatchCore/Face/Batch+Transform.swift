import BatchEngine
import BatchOutputs

extension Batch {
  /// Where the outputs of a transformation go.
  public struct TransformOptions: Sendable {
    public var settings = Settings()
    /// Which files below the paths are read.
    public var walk = WalkOptions()
    /// What is added to the names; not empty and without a slash.
    public var suffix: PathBytes
    /// Where the paths are mirrored to; nil puts each output beside its source. It is made where it is missing.
    public var outputDirectory: PathBytes?
    public var replacing = Replacing.older
    /// Brings outputs to the disk before they get their names.
    public var isSynced = true
    /// Files of this many bytes and more fail: a file is in memory as a whole, as many at once as there are operations.
    public var sizeLimit: Int64 = 256 << 20

    /// Outputs stand beside their sources, with this behind the name.
    public init(suffix: PathBytes) {
      self.suffix = suffix
    }
  }

  /// Writes what a closure makes of each file below some paths, one output for each, in the way and with the speed of
  /// ``compress(_:_:progress:)``.
  ///
  /// An output has the owner, mode, time and attributes of its source, and appears when it is complete. A file that is an output
  /// of an earlier call is left out.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: of files and folders.
  ///   - options: how, and with what of the machine.
  ///   - progress: gets states until the call returns; nil for none, which saves the walk that counts.
  ///   - body: gets the content of a file and returns that of its output; on many threads at once. What it throws is the failure
  ///     of the file.
  /// - Returns: the counts, and the outputs, each of which is complete.
  /// - Throws: `invalid` for a suffix that cannot be, `exhausted` where the machine does not allow a run, `unwritable` where the
  ///   folder of the outputs cannot be made.
  public static func transform(
    _ paths: [PathBytes], _ options: TransformOptions, progress: Progress? = nil,
    _ body: @escaping @Sendable ([UInt8]) throws(BatchError) -> [UInt8]
  ) async throws(BatchError) -> Report<WrittenFiles> {
    try await BatchCall.perform(options.settings, progress, WrittenFiles()) { (call) throws(BatchError) in
      try requireSuffix(options.suffix)
      // What has the suffix may be anything.
      var outputs = OutputOptions(
        naming: OutputNaming(.adding(suffix: options.suffix), directory: options.outputDirectory),
        recognizing: OutputOptions.Recognition(length: 1) { _ in true })
      outputs.replacing = options.replacing
      outputs.isSynced = options.isSynced
      outputs.compressesAll = true
      let run = try call.makeRun(paths.first, outputs: &outputs)
      let (paths, walk) = try tree(paths, options.walk, outputs.naming, run)
      let source = try CompressSource(
        run.tree(paths, options: walk), operandCount: paths.count, format: .gz, level: nil, options: outputs,
        wholeBelow: max(1, options.sizeLimit), cancellation: run.cancellation)
      let job = CompressJob(of: source, output: NoStream(), transform: body) { report in
        call.note { $0.add(report, most: call.settings.mostListed) }
      }
      call.start(job, over: source, in: run, count: (paths, walk))
    }
  }

  /// - Throws: `invalid` for what cannot be added to a name.
  static func requireSuffix(_ suffix: PathBytes) throws(BatchError) {
    guard !suffix.isEmpty, !suffix.bytes.contains(UInt8(ascii: "/")), !suffix.containsNUL else {
      throw BatchError(.invalid, "is no suffix of a name", path: suffix)
    }
  }
}
